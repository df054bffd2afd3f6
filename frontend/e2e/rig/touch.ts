// A finger on the screen: what it taps is in view and has no other element over it.
import type { Locator, Page } from 'playwright-core'

/** Makes the page one of a touch screen; returns what taps on it. */
export async function touching(page: Page): Promise<(at: Locator) => Promise<void>> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true })
  return async (at) => {
    // Playwright's click waits until the element is seen, stands still and takes the pointer.
    await at.click({ trial: true, timeout: 5000 })
    const { opacity, x, y } = await at.evaluate((element) => {
      const { left, top, width, height } = element.getBoundingClientRect()
      return { opacity: getComputedStyle(element).opacity, x: left + width / 2, y: top + height / 2 }
    })
    if (opacity === '0') throw new Error(`${at.toString()} is not seen by touch`)
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  }
}
