// The ways a page sleeps.
import { expect } from 'vitest'
import type { CDPSession, Page } from 'playwright-core'
import type { Device } from './device.ts'
import type { Screen } from './screen.ts'
import { until } from './until.ts'

/**
 * hidden: another tab is in front, timers are slowed. freeze: hidden, and the
 * page's tasks are stopped. stop: every process of the browser is stopped, as
 * on a locked phone; nothing in it can notice. bfcache: the person went to
 * another page and comes back to this very document, kept by the browser.
 */
export type Sleep = 'hidden' | 'freeze' | 'bfcache' | 'stop'

/** Puts a screen to sleep and returns what wakes it. */
export async function fallAsleep(how: Sleep, device: Device, screen: Screen): Promise<() => Promise<void>> {
  if (how === 'stop') {
    device.browser.freeze()
    return async () => device.browser.thaw()
  }
  if (how === 'bfcache') return leave(screen.page)
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

/** Goes elsewhere; fails on the way back unless the document itself came back. */
async function leave(page: Page): Promise<() => Promise<void>> {
  const born = await page.evaluate(() => performance.timeOrigin)
  await page.evaluate(() =>
    addEventListener('pageshow', (e) => (window.rig.persisted = e.persisted), { once: true }),
  )
  await page.goto('data:text/html,elsewhere')
  return async () => {
    await page.goBack({ waitUntil: 'commit' })
    const back = await until('the page to be shown again', () =>
      page.evaluate(() => ({ persisted: window.rig?.persisted, born: performance.timeOrigin })),
    )
    expect(back, 'the document came back from the cache').toEqual({ persisted: true, born })
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
