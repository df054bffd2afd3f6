// The ways a page sleeps.
import { expect } from 'vitest'
import type { CDPSession, Page } from 'playwright-core'
import type { Device } from './device.ts'
import type { Screen } from './screen.ts'
import { objectBytes } from './heap.ts'
import { until } from './until.ts'

/**
 * hidden: another tab is in front, and timers are slowed. freeze: hidden, and the
 * page's tasks are frozen. stop: every process of the browser is suspended, as on
 * a locked phone, without any event in the page. bfcache: the person went to another
 * page and returns to the same document, which the browser kept in its back/forward cache.
 */
export type Sleep = 'hidden' | 'freeze' | 'bfcache' | 'stop'

/** Puts a screen to sleep and returns the function that wakes it. */
export async function fallAsleep(how: Sleep, device: Device, screen: Screen): Promise<() => Promise<void>> {
  if (how === 'stop') {
    device.browser.freeze()
    return async () => device.browser.thaw()
  }
  if (how === 'bfcache') return leave(screen.page)
  await hide(device, screen.page)
  const uncover = () => device.uncover(screen.page)
  if (how === 'hidden') return uncover
  const cdp = await device.browser.context.newCDPSession(screen.page)
  await lifecycle(cdp, 'frozen')
  return async () => {
    await lifecycle(cdp, 'active')
    await cdp.detach()
    await uncover()
  }
}

/** Navigates away and returns the function that goes back. It fails unless the same document is restored. */
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

async function hide(device: Device, page: Page): Promise<void> {
  await device.cover(page)
  await until('the page to be hidden', () => page.evaluate(() => document.visibilityState === 'hidden'))
}

async function lifecycle(cdp: CDPSession, state: 'frozen' | 'active'): Promise<void> {
  await cdp.send('Page.setWebLifecycleState', { state })
}

/**
 * The bytes of objects that Playwright leaks into a page with every return from the back/forward
 * cache: it takes the document for a new one and injects its script of 330 KB again. Measured in a
 * page of the same hub without the app, with the same steps as in a lane.
 */
export async function leftByRig(device: Device): Promise<number> {
  // A busy browser may not keep the page in its cache. Then the measurement fails and is repeated.
  for (let tries = 1; ; tries++) {
    const bare = await device.open('/first.js')
    try {
      return await leftIn(bare)
    } catch (error) {
      if (tries === 5) throw error
    } finally {
      await bare.page.close()
    }
  }
}

async function leftIn(bare: Screen): Promise<number> {
  const returns = 8
  await bare.page.evaluate(() => {
    const area = document.createElement('textarea')
    area.setAttribute('aria-label', 'Prompt')
    document.body.append(area)
  })
  // The four moments of a lane: one without a prompt, one that ends with a click.
  const round = async (moment: number) => {
    if (moment > 0) await bare.prompt('/slow')
    await (
      await leave(bare.page)
    )()
    if (moment === 3) await bare.composer.click()
    await bare.permission.waitFor({ state: 'detached' })
    await bare.facts()
    await bare.watched()
    expect(await bare.page.locator('[data-outbox]').count()).toBe(0)
  }
  await round(3)
  const before = await objectBytes(bare.page)
  for (let i = 0; i < returns; i++) await round(i % 4)
  const after = await objectBytes(bare.page)
  return (after - before) / returns
}
