// Taps on a touch screen, which a page of the size `phone` has.
import type { Locator } from 'playwright-core'

/**
 * Taps an element. Fails if it is not visible, moves, or is covered by another element, for so many ms. It may move
 * between the look at it and the tap: then it is tapped again, where it is.
 */
export async function tap(at: Locator, timeout = 60_000): Promise<void> {
  for (let tries = 0; tries < 4; tries++) if (await tapOnce(at, timeout)) return
  throw new Error(`${at.toString()} is never where it is tapped`)
}

/** Whether the tap was on the element; also where the page went elsewhere by it. */
async function tapOnce(at: Locator, timeout: number): Promise<boolean> {
  await at.click({ trial: true, timeout })
  const { coarse, opacity, x, y } = await at.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect()
    const coarse = matchMedia('(pointer: coarse)').matches
    const there = element.closest('label') ?? element
    const touched = (event: Event) =>
      Object.assign(window, { tapped: !there.isConnected || event.composedPath().includes(there) })
    document.addEventListener('touchstart', touched, { capture: true, once: true, passive: true })
    return { coarse, opacity: getComputedStyle(element).opacity, x: left + width / 2, y: top + height / 2 }
  })
  if (!coarse) throw new Error('the page has no touch screen')
  if (opacity === '0') throw new Error(`${at.toString()} is transparent on a touch screen`)
  const page = at.page()
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await cdp.detach()
  const tapped = page.evaluate(() => (window as unknown as { tapped?: boolean }).tapped)
  return (await tapped.catch(() => true)) !== false
}

/** Presses until what that opens is there: the list takes no press just after its rows have moved. */
export async function pressFor(there: Locator, press: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 5 && (await there.count()) === 0; tries++) {
    await press()
    await there.waitFor({ timeout: 2_000 }).catch(() => {})
  }
  await there.waitFor()
}

/** Holds a finger on an element, once it moves no more, until what a long press does is there. */
export async function hold(at: Locator, there: Locator): Promise<void> {
  const cdp = await at.page().context().newCDPSession(at.page())
  for (let tries = 0; tries < 4 && (await there.count()) === 0; tries++) {
    await at.click({ trial: true })
    const { x, y, width, height } = (await at.boundingBox())!
    const touchPoints = [{ x: x + Math.min(width / 2, 60), y: y + height / 2 }]
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
    await there.waitFor({ timeout: 15_000 }).catch(() => {})
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  }
  await cdp.detach()
  await there.waitFor()
}
