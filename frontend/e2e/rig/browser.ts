// A real Chromium, started by us: a browser that a test library launches cannot
// be frozen, so a wake tested in one proves nothing.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  chromium,
  type Browser as Remote,
  type BrowserContext,
  type CDPSession,
  type Page,
} from 'playwright-core'
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
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
]

export interface Size {
  width: number
  height: number
}

export const phone: Size = { width: 390, height: 844 }
export const desktop: Size = { width: 1280, height: 800 }

/** One device: a Chromium with a profile, and so with cookies, of its own. */
export class Browser {
  #process!: Process
  #remote!: Remote
  #cdp!: CDPSession
  #profile = mkdtempSync(join(tmpdir(), 'abide-chromium-'))
  context!: BrowserContext
  /** Where it is driven from. */
  port = 0

  private constructor(private readonly size: Size) {}

  static async start(size: Size = desktop): Promise<Browser> {
    const browser = new Browser(size)
    await browser.reopen()
    return browser
  }

  /** Starts the browser on its profile, again after it was closed or killed. */
  async reopen(): Promise<void> {
    const args = [
      ...flags,
      `--user-data-dir=${this.#profile}`,
      `--window-size=${this.size.width},${this.size.height}`,
    ]
    const child = (this.#process = new Process(executable(), [...args, 'about:blank']))
    const endpoint = await until('the debugging port', () => child.stderr.match(/ws:\/\/\S+/)?.[0])
    this.port = Number(new URL(endpoint).port)
    // noDefaults: otherwise the library overrides focus and freezing is no longer real.
    this.#remote = await chromium.connectOverCDP(endpoint, { noDefaults: true } as object)
    this.#cdp = await this.#remote.newBrowserCDPSession()
    this.context = this.#remote.contexts()[0]!
  }

  /** Ends the browser as its user would: it writes down what it keeps, cookies too. */
  async close(): Promise<void> {
    await this.#cdp.send('Browser.close').catch(() => {})
    await this.#process.exited
  }

  /** Ends every process of the browser at once; the profile stays as it was at that moment. */
  async kill(): Promise<void> {
    for (const pid of tree(this.#process.child.pid!)) kill(pid, 'SIGKILL')
    await this.#process.exited
    await this.#remote.close().catch(() => {})
  }

  /** A blank page in a window of its own, so that it is visible beside others. */
  async window(size?: Size): Promise<Page> {
    const opened = this.context.waitForEvent('page')
    await this.#cdp.send('Target.createTarget', { url: 'about:blank', newWindow: true })
    const page = await opened
    if (size) await page.setViewportSize(size)
    return page
  }

  /** A blank tab in the window of the newest page, which it hides. */
  tab(): Promise<Page> {
    return this.context.newPage()
  }

  /** Stops every process of the browser, as a phone's system does. */
  freeze(): void {
    for (const pid of tree(this.#process.child.pid!)) kill(pid, 'SIGSTOP')
  }

  thaw(): void {
    for (const pid of tree(this.#process.child.pid!)) kill(pid, 'SIGCONT')
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself meanwhile.
  }
}

/** The process and all below it. */
function tree(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      continue // it ended while we looked
    }
  }
  const all = [root]
  for (const pid of all) all.push(...(children.get(pid) ?? []))
  return all
}
