import type { Page } from 'playwright-core'

/** Polls until check returns a value, and returns it; after `within` ms it fails and names the condition. */
export async function until<T>(
  what: string,
  check: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  within = 60_000,
): Promise<T> {
  const deadline = Date.now() + within
  for (;;) {
    const found = await check()
    if (found !== undefined && found !== null && found !== false) return found
    if (Date.now() > deadline) throw new Error(`timed out after ${within} ms waiting for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Waits until the service worker has the page, which is then loaded without the hub, and its parts too. */
export async function alone(page: Page): Promise<void> {
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
}

/** Waits, for tests that are about time: a sleep, a silence. */
export function elapse(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
