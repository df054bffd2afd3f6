import type { AbideEvent, Overview, Seq } from '../wire/gen'
import { after, emptyFeed, type Feed } from './feed'
import { carried, momentOf, type Moment } from './moment'
import { lastAtMost } from './overview'
import { Pages, pageSeqs } from './pages'

/** The longest that a gap between two events takes when it is played, in ms. */
export const idleMs = 2000

/** Events before the place, at least, that the feed shows; and how many it may have come to before it begins anew. */
const leadSeqs = 250
const feedMost = 4000

/** Keyframes held at most; then every second one goes. */
const keyframesMost = 512

/** How many pages a step looks through for its target. */
const lookPages = 40

/** A place in time: ms since the first event, as it was and as it is played. */
export interface Offset {
  readonly at: number
  readonly played: number
}

/**
 * A session at one seq after another. Its memory does not grow with the log: some pages of events,
 * the feed around the place, and keyframes. A place that was wanted later than another is never
 * left by the earlier one's answer.
 */
export class Player {
  seq: Seq
  /** The fold of the newest events up to the place. An item that began before it shows the part that is there. */
  feed: Feed
  offset: Offset = { at: 0, played: 0 }
  private clock = new Clock(0, 0, 0)
  private keyframes = new Map<number, Feed>()
  private every = 1
  private wanted = 0

  constructor(
    private readonly pages: Pages,
    public overview: Overview,
  ) {
    this.seq = overview.min_seq - 1
    this.feed = emptyFeed(this.seq)
  }

  /** Goes to a seq of the log. */
  async seek(seq: Seq, ended: AbortSignal): Promise<void> {
    const mine = ++this.wanted
    const first = this.firstFor(seq)
    const begin = this.begin(seq)
    const events = await this.pages.range(Math.min(first, begin.seq), seq, ended)
    if (mine !== this.wanted) return
    const clock = new Clock(Date.parse(this.overview.from), begin.at, begin.played)
    for (const event of events) if (event.seq > begin.seq) clock.tick(event)
    const from = this.feed.first === first && this.feed.last <= seq ? this.feed : emptyFeed(first - 1)
    this.take(
      after(
        from,
        events.filter((e) => e.seq > from.last),
      ),
      clock,
    )
  }

  /** The time from the place's event to the next, in ms; null while that event is not held. */
  gap(): number | null {
    const next = this.pages.get(this.seq + 1)
    return next ? this.clock.gap(next) : null
  }

  /**
   * Applies the next events while they are held and `ms` of played time has room for them; returns
   * the rest.
   */
  advance(ms: number, last: Seq): number {
    const events: AbideEvent[] = []
    const clock = this.clock.copy()
    let left = ms
    for (let seq = this.seq + 1; seq <= last; seq++) {
      const next = this.pages.get(seq)
      if (!next) break
      const wait = Math.min(idleMs, clock.gap(next))
      if (wait > left) break
      left -= wait
      clock.tick(next)
      events.push(next)
    }
    if (events.length === 0) return left
    this.wanted++
    const long = this.feed.items.length > feedMost
    const feed = after(this.feed, events)
    this.take(feed, clock)
    if (long) this.shorten()
    return left
  }

  /** Loads the events after the place. */
  async ahead(last: Seq, ended: AbortSignal): Promise<void> {
    await this.pages.range(this.seq + 1, Math.min(last, this.seq + pageSeqs), ended)
  }

  /** Puts older events before those of the feed. */
  async older(ended: AbortSignal): Promise<void> {
    const mine = this.wanted
    const first = Math.max(this.overview.min_seq, this.feed.first - pageSeqs)
    if (first === this.feed.first || this.feed.last - first > 10 * pageSeqs) return
    const events = await this.pages.range(first, this.seq, ended)
    if (mine === this.wanted) this.feed = after(emptyFeed(first - 1), events)
  }

  /** Whether older events can be put before those of the feed. */
  get hasOlder(): boolean {
    const first = Math.max(this.overview.min_seq, this.feed.first - pageSeqs)
    return this.feed.first > this.overview.min_seq && this.feed.last - first <= 10 * pageSeqs
  }

  /** The first event at or after a time since the first, as it was or as it is played; times never go back. */
  async seqAt(kind: keyof Offset, ms: number, last: Seq, ended: AbortSignal): Promise<Seq> {
    const { order, min_seq } = this.overview
    const values = (kind === 'at' ? order.at_ms : order.played_ms) ?? []
    // The stretch before the one that begins at this time may already reach it.
    const bucket = lastAtMost(values, ms - 1)
    const begin = this.begin(min_seq + bucket * order.bucket_events)
    if (begin[kind] >= ms) return Math.min(begin.seq, last)
    const clock = new Clock(Date.parse(this.overview.from), begin.at, begin.played)
    const to = bucket + 1 < values.length ? begin.seq + order.bucket_events : last
    for (const event of await this.pages.range(begin.seq + 1, Math.min(to, last), ended)) {
      clock.tick(event)
      if (clock[kind] >= ms) return event.seq
    }
    return Math.min(to, last)
  }

  /** The next event of some kind after a place, or the last before it; null if there is none near enough. */
  async find(
    place: Seq,
    by: 1 | -1,
    is: (event: AbideEvent) => boolean,
    last: Seq,
    ended: AbortSignal,
  ): Promise<Seq | null> {
    for (let n = Pages.of(Math.max(1, place)), i = 0; n >= 0 && i < lookPages; n += by, i++) {
      const from = Math.max(this.overview.min_seq, n * pageSeqs + 1, by > 0 ? place + 1 : 1)
      const to = Math.min(last, (n + 1) * pageSeqs, by < 0 ? place - 1 : last)
      if (from > last || to < this.overview.min_seq) return null
      const events = from <= to ? await this.pages.range(from, to, ended) : []
      const found = by > 0 ? events.find(is) : events.findLast(is)
      if (found) return found.seq
    }
    return null
  }

  /** The state of the session at a seq, from the nearest keyframe before it. */
  async moment(seq: Seq, ended: AbortSignal): Promise<Moment> {
    let n = Math.floor(seq / pageSeqs)
    while (n > 0 && !this.keyframes.has(n)) n--
    let feed = this.keyframes.get(n) ?? emptyFeed(this.overview.min_seq - 1)
    while (feed.last < seq) {
      n = Math.floor(feed.last / pageSeqs) + 1
      const to = Math.min(seq, n * pageSeqs)
      feed = after(feed, await this.pages.range(feed.last + 1, to, ended))
      if (to === n * pageSeqs) this.keep(n, (feed = carried(feed)))
    }
    return momentOf(feed)
  }

  private keep(n: number, feed: Feed): void {
    if (n % this.every === 0) this.keyframes.set(n, feed)
    if (this.keyframes.size <= keyframesMost) return
    this.every *= 2
    for (const key of this.keyframes.keys()) if (key % this.every !== 0) this.keyframes.delete(key)
  }

  private take(feed: Feed, clock: Clock): void {
    this.feed = feed
    this.seq = feed.last
    this.clock = clock
    this.offset = { at: clock.at, played: clock.played }
  }

  /** Begins the feed anew nearer to the place, of events that are held. */
  private shorten(): void {
    const first = this.firstFor(this.seq)
    const events: AbideEvent[] = []
    for (let seq = first; seq <= this.seq; seq++) {
      const event = this.pages.get(seq)
      if (!event) return
      events.push(event)
    }
    this.feed = after(emptyFeed(first - 1), events)
  }

  /** The first event of the feed at a seq: that of a page, or the one before where the place is near its beginning. */
  private firstFor(seq: Seq): Seq {
    const { first, last } = this.feed
    // The rows on screen stay, as long as the place is among them or just after.
    if (
      last >= first &&
      first <= seq - Math.min(leadSeqs, seq - this.overview.min_seq) &&
      seq <= last + pageSeqs
    )
      if (seq - first <= 4 * pageSeqs) return first
    const page = Pages.of(seq) * pageSeqs + 1
    return Math.max(this.overview.min_seq, seq - page < leadSeqs ? page - pageSeqs : page)
  }

  /** The event at or before a seq that has a known time, with that time. */
  private begin(seq: Seq): { seq: Seq } & Offset {
    const { order, min_seq } = this.overview
    const at = order.at_ms ?? []
    const bucket = Math.min(
      Math.floor(Math.max(0, seq - min_seq) / Math.max(1, order.bucket_events)),
      at.length - 1,
    )
    if (bucket < 0) return { seq: min_seq, at: 0, played: 0 }
    return {
      seq: min_seq + bucket * order.bucket_events,
      at: at[bucket]!,
      played: order.played_ms?.[bucket] ?? 0,
    }
  }
}

/** Time as a player counts it: a clock that went back stands still. */
class Clock {
  constructor(
    private readonly from: number,
    public at: number,
    public played: number,
  ) {}

  copy(): Clock {
    return new Clock(this.from, this.at, this.played)
  }

  gap(event: AbideEvent): number {
    return Math.max(0, Date.parse(event.time) - this.from - this.at) || 0
  }

  tick(event: AbideEvent): void {
    const gap = this.gap(event)
    this.at += gap
    this.played += Math.min(gap, idleMs)
  }
}
