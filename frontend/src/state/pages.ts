import type { AbideEvent, EventsLoadedMessage, Seq } from '../wire/gen'

/** How many seqs a page covers: as many as the hub sends at once. */
export const pageSeqs = 500

/** How many pages are held: a player goes back and forth among few. */
const held = 24

/** Asks the hub for events after a seq, as they are in the log. */
export type Ask = (after: Seq, limit: number, ended: AbortSignal) => Promise<EventsLoadedMessage>

/** The events of a log by page, loaded when they are wanted; the pages used last are held. */
export class Pages {
  private readonly pages = new Map<number, readonly AbideEvent[]>()

  constructor(
    private readonly ask: Ask,
    readonly epoch: string,
    readonly minSeq: Seq,
    private readonly most = held,
  ) {}

  /** The page that a seq is on, from 0. */
  static of(seq: Seq): number {
    return Math.floor((seq - 1) / pageSeqs)
  }

  /** An event that is held. */
  get(seq: Seq): AbideEvent | undefined {
    const page = this.pages.get(Pages.of(seq))
    return page?.[seq - page[0]!.seq]
  }

  /** How many pages are held. */
  get size(): number {
    return this.pages.size
  }

  /** Events from..to, of which the log must have all. Their pages are asked for at once. */
  async range(from: Seq, to: Seq, ended: AbortSignal): Promise<AbideEvent[]> {
    const begin = Math.max(from, this.minSeq)
    const asked: Promise<readonly AbideEvent[]>[] = []
    for (let n = Pages.of(begin); n <= Pages.of(to) && begin <= to; n++) asked.push(this.page(n, to, ended))
    const pages = await Promise.all(asked)
    return pages.flatMap((page) => page.filter((event) => event.seq >= begin && event.seq <= to))
  }

  private async page(n: number, to: Seq, ended: AbortSignal): Promise<readonly AbideEvent[]> {
    const last = Math.min(to, (n + 1) * pageSeqs)
    let page = this.pages.get(n) ?? []
    let at = page.at(-1)?.seq ?? Math.max(this.minSeq - 1, n * pageSeqs)
    while (at < last) {
      const answer = await this.ask(at, (n + 1) * pageSeqs - at, ended)
      if (answer.verdict === 'reset' || answer.epoch !== this.epoch || answer.events[0]?.seq !== at + 1)
        throw new Error(t`The log has changed meanwhile. Load the page again.`)
      page = [...page, ...answer.events]
      at = page.at(-1)!.seq
    }
    this.pages.delete(n)
    this.pages.set(n, page) // the newest used is the last to go
    for (const oldest of this.pages.keys()) {
      if (this.pages.size <= this.most) break
      this.pages.delete(oldest)
    }
    return page
  }
}
