// One page of the app: a person's actions at it, and a test's readings of it.
import type { Locator, Page } from 'playwright-core'
import { watch, type Watched } from './inpage.ts'
import { elapse } from './until.ts'

/** The app's state in the attributes of its root element. */
export interface Facts {
  link: string
  session: string
  epoch: string
  /** The cursor, the oldest event held, and how many were folded. */
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
  /** The words of the agent or of a person, as they are shown. */
  text: string
}

export class Screen {
  /** What went wrong in the page's own code. */
  readonly errors: string[] = []
  /** Every address the page asked for. */
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

  /** Goes to another address of the app within the same document, as its own links do. */
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
        throw new Error(`waited ${within} ms in vain for the page at seq ${seq}; it is at ${facts}`)
      }
      // The page went to another document while it was asked: so does the question.
      if (!/context was destroyed|navigation/i.test(told.message)) throw told
    }
  }

  async prompt(text: string): Promise<void> {
    await this.composer.fill(text)
    await this.composer.press('Control+Enter')
  }

  /** Answers the permission request on the screen by the option's name. */
  async answer(option: string): Promise<void> {
    await this.permission.locator('[data-option]', { hasText: option }).click()
  }

  /** Every row of the feed from the first to the last, found by scrolling as a reader would. */
  rows(): Promise<ShownRow[]> {
    return this.page.evaluate(async () => {
      const feed = document.querySelector<HTMLElement>('[role=feed]')!
      const shown = new Map<string, { key: string; seq: number; last: number; text: string }>()
      const deadline = Date.now() + 60_000
      const painted = () =>
        new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const begun = () => feed.scrollTop < 1 && document.documentElement.dataset['firstSeq'] === '1'
      const ended = () => feed.scrollTop > feed.scrollHeight - feed.clientHeight - 1
      /** Whether the rows of this place are made: on a busy machine they come some frames after the scroll. */
      const made = () => {
        const { top, height } = feed.getBoundingClientRect()
        const middle = Math.min(top + height / 2, top + feed.scrollHeight / 2)
        return [...feed.querySelectorAll('article[data-key]')].some((row) => {
          const box = row.getBoundingClientRect()
          return box.top < middle + 60 && box.bottom > middle - 60
        })
      }
      /** Takes the rows in the page; false while some are not made, or have a text that its parser has not shown. */
      const read = () => {
        if (!made()) return false
        const lasts = new Set<string>()
        for (const row of feed.querySelectorAll<HTMLElement>('article[data-key]')) {
          const { key, seq, last } = row.dataset
          // An event is part of one row, also while pages come and rows grow.
          if (lasts.has(last!)) throw new Error(`two rows end with event ${last} at once`)
          lasts.add(last!)
          const body = row.querySelector('.message, .prompt > p')
          if (body?.querySelector('.prose.plain')) return false
          // A long text is cut until the rest is asked for.
          const rest = body?.querySelector<HTMLElement>('button.rest')
          rest?.click()
          if (rest) return false
          shown.set(key!, { key: key!, seq: Number(seq), last: Number(last), text: body?.textContent ?? '' })
        }
        return true
      }
      /** How far the rows at both edges reach beyond them: a row is read whole at once, however high it is. */
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
      // A row met at the end may have been made anew by an older page: who follows the end is in no row.
      shown.clear()
      await scroll(ended, 0.7)
      return [...shown.values()].sort((a, b) => a.seq - b.seq)
    })
  }
}

/**
 * Runs in the page, which says so itself: asking it again and again costs more than the work under
 * test.
 */
function reached({ session, seq }: { session: string; seq: number }): Promise<true> {
  const root = document.documentElement
  return new Promise((resolve) => {
    const look = () => {
      const { link, session: shown, seq: applied } = root.dataset
      if (link !== 'open' || shown !== session || !(Number(applied) >= seq)) return
      changes.disconnect()
      resolve(true)
    }
    const changes = new MutationObserver(look)
    changes.observe(root, { attributes: true })
    look()
  })
}
