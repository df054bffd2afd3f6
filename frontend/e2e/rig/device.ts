// A person's device: a browser that is paired with the hub.
import type { Page } from 'playwright-core'
import { Browser, type Size } from './browser.ts'
import type { Hub } from './hub.ts'
import { Screen } from './screen.ts'

export class Device {
  /** The blank tab that covers each page, kept for the next time. */
  readonly #covers = new Map<Page, Page>()

  private constructor(
    readonly browser: Browser,
    readonly origin: string,
  ) {}

  /**
   * Starts a browser and pairs it, through a proxy if `origin` is the proxy's address. Without `told` the notices
   * about newly granted access are dismissed, because the rig itself makes devices and tokens.
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
      await hub.api('POST', '/api/devices/seen', { until: '9999-01-01T00:00:00Z' })
    }
    await screen.page.close()
    return device
  }

  /** Opens a path of the hub in a new window. */
  async open(path: string, size?: Size): Promise<Screen> {
    return Screen.open(await this.browser.window(size), this.origin + path)
  }

  /** Opens a session in a new window and waits until it has loaded events. */
  async watch(session: string, size?: Size): Promise<Screen> {
    const screen = await this.open(`/s/${session}`, size)
    await screen.reaches(session, 1)
    return screen
  }

  /** Shows another tab in the page's window, so that the page is hidden. */
  async cover(page: Page): Promise<void> {
    const kept = this.#covers.get(page)
    if (kept) return kept.bringToFront()
    await page.bringToFront() // so that the tab opens in this window
    this.#covers.set(page, await this.browser.tab())
  }

  /** Shows the page again instead of the tab that covers it. */
  uncover(page: Page): Promise<void> {
    return page.bringToFront()
  }

  stop(): Promise<void> {
    return this.browser.stop()
  }
}
