// The ways a page sleeps.
import type { CDPSession, Page } from 'playwright-core'
import type { Device } from './device.ts'
import type { Screen } from './screen.ts'
import { until } from './until.ts'

/**
 * hidden: another tab is in front, timers are slowed. freeze: hidden, and the
 * page's tasks are stopped. stop: every process of the browser is stopped, as
 * on a locked phone; nothing in it can notice.
 */
export type Sleep = 'hidden' | 'freeze' | 'stop'

/** Puts a screen to sleep and returns what wakes it. */
export async function fallAsleep(how: Sleep, device: Device, screen: Screen): Promise<() => Promise<void>> {
  if (how === 'stop') {
    device.browser.freeze()
    return async () => device.browser.thaw()
  }
  const cover = await hide(device, screen.page)
  const uncover = async () => {
    await screen.page.bringToFront()
    await cover.close()
  }
  if (how === 'hidden') return uncover
  const cdp = await device.browser.context.newCDPSession(screen.page)
  await lifecycle(cdp, 'frozen')
  return async () => {
    await lifecycle(cdp, 'active')
    await cdp.detach()
    await uncover()
  }
}

async function hide(device: Device, page: Page): Promise<Page> {
  await page.bringToFront() // so that the tab that covers it opens in its window
  const cover = await device.browser.tab()
  await until('the page to be hidden', () => page.evaluate(() => document.visibilityState === 'hidden'))
  return cover
}

async function lifecycle(cdp: CDPSession, state: 'frozen' | 'active'): Promise<void> {
  await cdp.send('Page.setWebLifecycleState', { state })
}
