// A person's device: a browser that this hub has paired, and its screens.
import type { Page } from 'playwright-core'
import { Browser, type Size } from './browser.ts'
import type { Hub } from './hub.ts'
import { Screen } from './screen.ts'

export class Device {
  /** The tabs that lay over a page and may again. */
  readonly #covers = new Map<Page, Page>()

  private constructor(
    readonly browser: Browser,
    readonly origin: string,
  ) {}

  /**
   * Starts a browser and pairs it, through a proxy where `origin` is its address. Without `told` it does not show
   * that others are let in: the rig itself makes devices and tokens.
   */
  static async pair(
    hub: Hub,
    options: { origin?: string; size?: Size; told?: boolean } = {},
  ): Promise<Device> {
    const origin = options.origin ?? hub.origin
    const device = new Device(await Browser.start(options.size), origin)
    const screen = await Screen.open(await device.browser.window(), hub.pairLink(origin))
    await screen.page.locator('html[data-link=open]').waitFor()
    if (!options.told) {
      await screen.page.evaluate(() => localStorage.setItem('abide.grants.dismissed', '9999-01-01'))
    }
    await screen.page.close()
    return device
  }

  /** Opens an address of the hub in a window of its own. */
  async open(path: string, size?: Size): Promise<Screen> {
    return Screen.open(await this.browser.window(size), this.origin + path)
  }

  /** Opens a session and waits until its newest events are there. */
  async watch(session: string, size?: Size): Promise<Screen> {
    const screen = await this.open(`/s/${session}`, size)
    await screen.reaches(session, 1)
    return screen
  }

  /** Puts another tab before a page, in the window of the page. */
  async cover(page: Page): Promise<void> {
    const kept = this.#covers.get(page)
    if (kept) return kept.bringToFront()
    await page.bringToFront() // so that the tab opens in its window
    this.#covers.set(page, await this.browser.tab())
  }

  /** Puts a page before the tab that covers it. */
  uncover(page: Page): Promise<void> {
    return page.bringToFront()
  }

  stop(): Promise<void> {
    return this.browser.stop()
  }
}
