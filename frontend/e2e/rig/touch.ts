// Taps on a touch screen, which a page of the size `phone` has.
import type { Locator } from 'playwright-core'

/** Taps an element. Fails if it is not visible, moves, or is covered by another element, for so many ms. */
export async function tap(at: Locator, timeout = 60_000): Promise<void> {
  await at.click({ trial: true, timeout })
  const { coarse, opacity, x, y } = await at.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect()
    const coarse = matchMedia('(pointer: coarse)').matches
    return { coarse, opacity: getComputedStyle(element).opacity, x: left + width / 2, y: top + height / 2 }
  })
  if (!coarse) throw new Error('the page has no touch screen')
  if (opacity === '0') throw new Error(`${at.toString()} is transparent on a touch screen`)
  const cdp = await at.page().context().newCDPSession(at.page())
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await cdp.detach()
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
  await at.click({ trial: true })
  const { x, y, width, height } = (await at.boundingBox())!
  const cdp = await at.page().context().newCDPSession(at.page())
  const touchPoints = [{ x: x + Math.min(width / 2, 60), y: y + height / 2 }]
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
  await there.waitFor()
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await cdp.detach()
}
