// A finger on the screen. A page of the size `phone` is one of a touch screen.
import type { Locator } from 'playwright-core'

/** Taps an element that is in view, is seen, stands still and has no other over it. */
export async function tap(at: Locator): Promise<void> {
  await at.click({ trial: true })
  const { coarse, opacity, x, y } = await at.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect()
    const coarse = matchMedia('(pointer: coarse)').matches
    return { coarse, opacity: getComputedStyle(element).opacity, x: left + width / 2, y: top + height / 2 }
  })
  if (!coarse) throw new Error('the page is not one of a touch screen')
  if (opacity === '0') throw new Error(`${at.toString()} is not seen by touch`)
  const cdp = await at.page().context().newCDPSession(at.page())
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await cdp.detach()
}
