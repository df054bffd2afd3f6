// One page of the app: a person's actions in it, and the state that tests read from it.
import type { Locator, Page } from 'playwright-core'
import { watch, type Watched } from './inpage.ts'
import { elapse } from './until.ts'

/** The app's state in the attributes of its root element. */
export interface Facts {
  link: string
  session: string
  epoch: string
  /** The cursor, the seq of the oldest event loaded, and the number of events applied. */
  seq: number
  first: number
  applied: number
  turn: string
}

/** One row of the feed. */
export interface ShownRow {
  key: string
  seq: number
  last: number
  /** The text of a message or a prompt, as rendered; empty for other rows. */
  text: string
}

export class Screen {
  /** The uncaught errors of the page. */
  readonly errors: string[] = []
  /** Every URL the page requested. */
  readonly requests: string[] = []
  readonly feed: Locator
  readonly composer: Locator
  readonly permission: Locator

  constructor(readonly page: Page) {
    this.feed = page.getByRole('feed')
    this.composer = page.getByRole('textbox', { name: 'Prompt', exact: true })
    this.permission = page.getByRole('alertdialog')
    page.on('pageerror', (error) => this.errors.push(String(error.stack ?? error)))
    page.on('request', (request) => this.requests.push(request.url()))
    page.on('websocket', (socket) => this.requests.push(socket.url()))
  }

  static async open(page: Page, url: string): Promise<Screen> {
    await page.addInitScript(watch)
    const screen = new Screen(page)
    await page.goto(url)
    return screen
  }

  /** Navigates to another path of the app within the same document, as its own links do. */
  async go(path: string): Promise<void> {
    await this.page.evaluate((to) => {
      history.pushState(null, '', to)
      dispatchEvent(new PopStateEvent('popstate'))
    }, path)
  }

  async facts(): Promise<Facts> {
    const data = await this.page.evaluate(() => ({ ...document.documentElement.dataset }))
    return {
      link: data['link'] ?? '',
      session: data['session'] ?? '',
      epoch: data['epoch'] ?? '',
      seq: Number(data['seq']),
      first: Number(data['firstSeq']),
      applied: Number(data['applied']),
      turn: data['turn'] ?? '',
    }
  }

  watched(): Promise<Watched> {
    return this.page.evaluate(() => window.rig.read())
  }

  /** Waits until the page has applied the session up to seq, and is connected. */
  async reaches(session: string, seq: number, within = 60_000): Promise<Facts> {
    const deadline = Date.now() + within
    for (;;) {
      const told = await Promise.race([
        this.page.evaluate(reached, { session, seq }).catch((error: Error) => error),
        elapse(deadline - Date.now()),
      ])
      if (told === true) return this.facts()
      if (told === undefined) {
        const facts = JSON.stringify(await this.facts())
        throw new Error(`the page did not reach seq ${seq} within ${within} ms; it is at ${facts}`)
      }
      // The page loaded another document meanwhile: ask again there.
      if (!/context was destroyed|navigation/i.test(told.message)) throw told
    }
  }

  async prompt(text: string): Promise<void> {
    await this.composer.fill(text)
    await this.composer.press('Control+Enter')
  }

  /** Answers the permission request on the screen with the option of this name. */
  async answer(option: string): Promise<void> {
    await this.permission.locator('[data-option]', { hasText: option }).click()
  }

  /** Every row of the feed from the first to the last. It scrolls through the feed to find them. */
  rows(): Promise<ShownRow[]> {
    return this.page.evaluate(async () => {
      const feed = document.querySelector<HTMLElement>('[role=feed]')!
      const shown = new Map<string, { key: string; seq: number; last: number; text: string }>()
      const deadline = Date.now() + 60_000
      const painted = () =>
        new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const begun = () => feed.scrollTop < 1 && document.documentElement.dataset['firstSeq'] === '1'
      const ended = () => feed.scrollTop > feed.scrollHeight - feed.clientHeight - 1
      /** Whether the rows at this scroll position are rendered. On a busy machine that takes several frames. */
      const made = () => {
        const { top, height } = feed.getBoundingClientRect()
        const middle = Math.min(top + height / 2, top + feed.scrollHeight / 2)
        return [...feed.querySelectorAll('article[data-key]')].some((row) => {
          const box = row.getBoundingClientRect()
          return box.top < middle + 60 && box.bottom > middle - 60
        })
      }
      /** Reads the rows in the page. Returns false while rows are missing or their Markdown is not rendered yet. */
      const read = () => {
        if (!made()) return false
        const lasts = new Set<string>()
        for (const row of feed.querySelectorAll<HTMLElement>('article[data-key]')) {
          const { key, seq, last } = row.dataset
          // An event belongs to one row only, also while pages load and rows grow.
          if (lasts.has(last!)) throw new Error(`two rows end with event ${last} at once`)
          lasts.add(last!)
          const body = row.querySelector('.message, .prompt > p')
          if (body?.querySelector('.prose.plain')) return false
          // A long text is cut; this button shows the rest.
          const rest = body?.querySelector<HTMLElement>('button.rest')
          rest?.click()
          if (rest) return false
          shown.set(key!, { key: key!, seq: Number(seq), last: Number(last), text: body?.textContent ?? '' })
        }
        return true
      }
      /** How far the rows at the top and bottom edges extend beyond the view. A row is read whole, however high it is. */
      const cut = () => {
        const { top, bottom } = feed.getBoundingClientRect()
        const boxes = [...feed.querySelectorAll('article[data-key]')].map((row) =>
          row.getBoundingClientRect(),
        )
        const at = (edge: number) => boxes.find((box) => box.top <= edge && box.bottom >= edge)
        return { above: top - (at(top)?.top ?? top), below: (at(bottom)?.bottom ?? bottom) - bottom }
      }
      const scroll = async (there: () => boolean, by: number) => {
        for (;;) {
          const whole = read()
          if (whole && there()) return
          if (Date.now() > deadline) {
            const { firstSeq } = document.documentElement.dataset
            throw new Error(
              `out of reach: at ${feed.scrollTop} of ${feed.scrollHeight}, first is ${firstSeq}`,
            )
          }
          if (whole)
            feed.scrollTop +=
              by < 0
                ? Math.min(by * feed.clientHeight, -cut().above)
                : Math.max(by * feed.clientHeight, cut().below)
          await painted()
        }
      }
      feed.scrollTop = feed.scrollHeight
      await painted()
      await scroll(begun, -3)
      // The feed follows its end at first, so an older page may have replaced the rows read there: read all again.
      shown.clear()
      await scroll(ended, 0.7)
      return [...shown.values()].sort((a, b) => a.seq - b.seq)
    })
  }
}

/**
 * Runs in the page and resolves when it reaches the seq. Polling from outside would cost more than
 * the work under test.
 */
function reached({ session, seq }: { session: string; seq: number }): Promise<true> {
  const root = document.documentElement
  return new Promise((resolve) => {
    const look = () => {
      const { link, session: shown, seq: applied } = root.dataset
      if (link !== 'open' || shown !== session || !(Number(applied) >= seq)) return
      if (!document.querySelector('[role=feed]')) {
        // It is applied, and not drawn: the feed comes with its parts.
        changes.observe(document.body, { childList: true, subtree: true })
        return
      }
      changes.disconnect()
      resolve(true)
    }
    const changes = new MutationObserver(look)
    changes.observe(root, { attributes: true })
    look()
  })
}
