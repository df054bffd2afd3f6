// A real Chromium, started by the rig itself: a browser that Playwright launches cannot
// be frozen, so a wake tested in one proves nothing.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  chromium,
  type Browser as Remote,
  type BrowserContext,
  type CDPSession,
  type Page,
} from 'playwright-core'
import { call, dismiss, tail, watchPage } from './evidence.ts'
import { leavings, signalAll } from './leavings.ts'
import { Process } from './process.ts'
import { until } from './until.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome']

function executable(): string {
  for (const name of names) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      continue
    }
  }
  throw new Error('no Chromium found: run `make chromium`')
}

const flags = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Without the first two, each new window loads two pages for the address bar, which costs a second of
  // processor time. Chromium's local network checks are off, because not every browser has them.
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,LocalNetworkAccessChecks',
  '--hide-scrollbars',
  // A foreign name that resolves to the loopback address, as after DNS rebinding.
  '--host-resolver-rules=MAP rebound.test 127.0.0.1',
  '--remote-debugging-port=0',
]

export interface Size {
  width: number
  height: number
  /** Whether to emulate a touch screen: the pointer is coarse, and nothing hovers. rig/touch.ts makes the taps. */
  touch?: boolean
}

export const phone: Size = { width: 390, height: 844, touch: true }
export const desktop: Size = { width: 1280, height: 800 }

/** Browsers that no test uses now. They are reused, because starting Chromium costs two seconds of processor time. */
const idle: Browser[] = []

/** One device: a Chromium with its own profile, so with its own cookies. */
export class Browser {
  #process!: Process
  #remote!: Remote
  #cdp!: CDPSession
  readonly #profile = leavings.folder('abide-chromium-')
  /** Whether the next test can reuse this browser: it was never closed, killed or frozen, and has the real clock. */
  #reusable = true
  context!: BrowserContext
  /** The port of its debugging protocol. */
  port = 0

  private constructor(private readonly size: Size) {
    call(this)
  }

  /** Returns a browser without any data: one that an earlier test stopped, or a new one. */
  static async start(size: Size = desktop): Promise<Browser> {
    const at = idle.findIndex(({ size: { width, height } }) => width === size.width && height === size.height)
    const [again] = at < 0 ? [] : idle.splice(at, 1)
    if (again) {
      call(again)
      return again
    }
    const browser = new Browser(size)
    await browser.reopen()
    return browser
  }

  /** Starts the browser on its profile; also restarts it after it was closed or killed. */
  async reopen(): Promise<void> {
    const args = [
      ...flags,
      `--user-data-dir=${this.#profile}`,
      `--window-size=${this.size.width},${this.size.height}`,
    ]
    // HOME and TMPDIR are the profile too, so that certificates and font caches are removed with it.
    const env = { ...process.env, HOME: this.#profile, TMPDIR: this.#profile }
    const child = (this.#process = new Process(executable(), [...args, 'about:blank'], { env }))
    const endpoint = await until('the debugging port', () => {
      if (child.ended) throw new Error(`Chromium exited during start-up: ${child.stderr}`)
      return child.stderr.match(/ws:\/\/\S+/)?.[0]
    })
    this.port = Number(new URL(endpoint).port)
    // noDefaults: otherwise Playwright emulates focus, and freezing is no longer real.
    this.#remote = await chromium.connectOverCDP(endpoint, { noDefaults: true } as object)
    this.#cdp = await this.#remote.newBrowserCDPSession()
    this.context = this.#remote.contexts()[0]!
    this.context.setDefaultTimeout(60_000)
    this.context.on('page', watchPage)
  }

  /** Saves later downloads, under their own names, in the folder it returns. */
  async downloads(): Promise<string> {
    const folder = join(this.#profile, 'downloads')
    await this.#cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder })
    return folder
  }

  /** Closes the browser as its user would: it saves its data, including cookies. */
  async close(): Promise<void> {
    this.#reusable = false
    await this.#cdp.send('Browser.close').catch(() => {})
    await this.#process.exited
  }

  /** Kills every process of the browser at once; the profile stays as it was at that moment. */
  async kill(): Promise<void> {
    this.#reusable = false
    signalAll(this.#process.child, 'SIGKILL')
    await this.#process.exited
    await this.#remote.close().catch(() => {})
  }

  /** Opens a blank page in a new window, so that it is visible beside other pages. */
  async window(size?: Size): Promise<Page> {
    const opened = this.context.waitForEvent('page')
    await this.#cdp.send('Target.createTarget', { url: 'about:blank', newWindow: true })
    const page = await opened
    if (size) await page.setViewportSize(size)
    if (size?.touch) {
      const cdp = await this.context.newCDPSession(page)
      await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true })
    }
    return page
  }

  /** Opens a blank tab in the window of the newest page. The tab hides that page. */
  tab(): Promise<Page> {
    return this.context.newPage()
  }

  /**
   * Opens a blank page whose clock is set by `page.clock`. All later pages of the browser have that clock, so no other
   * test reuses the browser.
   */
  async timed(size: Size, time = Date.now()): Promise<Page> {
    this.#reusable = false
    const page = await this.window(size)
    await page.clock.install({ time })
    return page
  }

  /** Suspends every process of the browser, as a phone's system does. */
  freeze(): void {
    this.#reusable = false
    signalAll(this.#process.child, 'SIGSTOP')
  }

  thaw(): void {
    signalAll(this.#process.child, 'SIGCONT')
  }

  /** Returns the browser for reuse, without its pages and data; kills it if it cannot be reused. */
  async stop(): Promise<void> {
    dismiss(this)
    if (this.#reusable) {
      await this.#forget()
      idle.push(this)
      return
    }
    await this.kill()
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }

  /** Closes every page but a blank one, and deletes cookies, permissions, databases and service workers. */
  async #forget(): Promise<void> {
    const pages = this.context.pages()
    const blank = pages.find((page) => page.url() === 'about:blank') ?? (await this.tab())
    await Promise.all(pages.filter((page) => page !== blank).map((page) => page.close()))
    await this.context.clearCookies()
    await this.context.clearPermissions()
    const cdp = await this.context.newCDPSession(blank)
    await cdp.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' })
    await cdp.detach()
  }

  testify(): string {
    // Chromium logs many errors about the missing D-Bus of a test machine.
    const said = (this.#process?.stderr ?? '').split('\n').filter((line) => !/dbus/i.test(line))
    return `Chromium said\n${tail(said.join('\n'), 10)}`
  }
}
