import type {
  AbideEvent,
  CommandsData,
  ConfigData,
  InterruptReason,
  ModeData,
  ModeOption,
  Seq,
  TitleData,
  UsageData,
} from '../wire/gen'
import { Chunks, type ChunksBuilder } from './chunks'
import { combine } from './combine'
import { exactData, exactTime } from './exact'
import { itemOf } from './itemof'
import type { Item, TextItem } from './items'

/** The agent's latest settings, each with the seq of its event. */
export interface Latest {
  mode?: { seq: Seq; value: ModeData }
  modes?: { seq: Seq; value: readonly ModeOption[] }
  config?: { seq: Seq; value: ConfigData }
  commands?: { seq: Seq; value: CommandsData }
  usage?: { seq: Seq; value: UsageData }
  title?: { seq: Seq; value: TitleData }
  /** Why turns were interrupted, by their prompts. */
  cut?: ReadonlyMap<string, InterruptReason>
}

/**
 * The fold of a run of events, seq first..last without a hole. It is a value: adding events makes a
 * new one. Folding is associative, so an older page can be folded alone and put before the feed
 * (see `before`).
 */
export interface Feed {
  /** The run is empty when last is first-1. */
  readonly first: Seq
  readonly last: Seq
  /** How many events were folded, each of a merged run: last-first+1, or one was lost or taken twice. */
  readonly count: number
  /** In the order of their first events. */
  readonly items: Chunks<Item>
  /** Where items that later events change are: key to first seq. */
  readonly keyed: ReadonlyMap<string, Seq>
  /** Texts that a further chunk would join: role and message id to first seq. */
  readonly open: ReadonlyMap<string, Seq>
  readonly latest: Latest
}

/** Returns a feed without events, with its cursor at `last`. */
export function emptyFeed(last: Seq): Feed {
  return {
    first: last + 1,
    last,
    count: 0,
    items: Chunks.empty,
    keyed: new Map(),
    open: new Map(),
    latest: {},
  }
}

/** Returns the feed with the events after it; they must follow its last seq. */
export function after(feed: Feed, events: readonly AbideEvent[]): Feed {
  if (events.length === 0) return feed
  const fold = new Fold(feed)
  for (const event of events) fold.event(event)
  return fold.done()
}

/** Returns the feed with an older page before it; `page` must end where the feed begins. */
export function before(page: Feed, feed: Feed): Feed {
  const fold = new Fold(page)
  for (const item of feed.items) fold.add(item)
  const joined = fold.done()
  return {
    ...joined,
    last: feed.last,
    count: page.count + feed.count,
    latest: { ...page.latest, ...feed.latest, ...cutIn(page, feed) },
  }
}

/** The prompts of both that were not begun. */
function cutIn(a: Feed, b: Feed): Pick<Latest, 'cut'> {
  const [x, y] = [a.latest.cut, b.latest.cut]
  return x && y ? { cut: new Map([...x, ...y]) } : {}
}

/**
 * Returns the items from..to-1 as a feed of their own. No item may have events on both sides of a
 * cut. The agent's last message is kept whole.
 */
export function part(feed: Feed, from: number, to: number): Feed {
  const { items } = feed
  const first = from === 0 ? feed.first : items.get(from).seq
  const last = to === items.length ? feed.last : items.get(to).seq - 1
  const fold = new Fold(emptyFeed(first - 1))
  for (let i = from; i < to; i++) fold.add(items.get(i))
  return { ...fold.done(), last, count: last - first + 1, latest: feed.latest }
}

/** Finds an item by its key, if that kind of item is found by key. */
export function find<K extends Item['kind']>(
  feed: Feed,
  kind: K,
  key: string,
): Extract<Item, { kind: K }> | undefined {
  const seq = feed.keyed.get(key)
  if (seq === undefined) return undefined
  const item = feed.items.get(indexOf(feed.items, seq))
  return item.kind === kind ? (item as Extract<Item, { kind: K }>) : undefined
}

/** Returns the index of the last item that begins at or before seq; -1 if none does. */
export function indexOf(items: { get(i: number): Item; length: number }, seq: Seq): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const mid = (low + high) >> 1
    if (items.get(mid).seq <= seq) low = mid + 1
    else high = mid
  }
  return low - 1
}

const keyedKinds: ReadonlySet<Item['kind']> = new Set(['prompt', 'tool', 'plan', 'permission', 'terminal'])

/** After one of these, a chunk of the same message begins a new text below it. */
const breaks: ReadonlySet<Item['kind']> = new Set(['prompt', 'tool', 'permission', 'content', 'turn_end'])

class Fold {
  private readonly first: Seq
  private last: Seq
  private count: number
  private readonly items: ChunksBuilder<Item>
  private keyed: ReadonlyMap<string, Seq>
  private open: ReadonlyMap<string, Seq>
  private readonly latest: Latest
  private ownsKeyed = false
  private ownsOpen = false

  constructor(feed: Feed) {
    this.first = feed.first
    this.last = feed.last
    this.count = feed.count
    this.items = feed.items.builder()
    this.keyed = feed.keyed
    this.open = feed.open
    this.latest = { ...feed.latest }
  }

  event(sent: AbideEvent): void {
    this.last = sent.seq
    this.count += sent.seq - (sent.first_seq ?? sent.seq) + 1
    const time = exactTime(sent.time)
    const data = exactData(sent)
    const event = (data === sent.data && time === sent.time ? sent : { ...sent, time, data }) as AbideEvent
    try {
      if (data === undefined) throw new TypeError('not the data of its type')
      this.remember(event)
      const item = itemOf(event)
      if (item) this.add(item)
    } catch {
      // Data that does not fit its type is shown as it is; the feed goes on.
      this.add({
        kind: 'unknown',
        key: `event:${event.seq}`,
        seq: event.seq,
        last: event.seq,
        time: event.time,
        until: event.time,
        turn: event.turn ?? 0,
        type: event.type,
        data: sent.data,
      })
    }
  }

  add(item: Item): void {
    if (keyedKinds.has(item.kind)) {
      const at = this.keyed.get(item.key)
      if (at !== undefined) return this.join(at, item)
      this.ownKeyed().set(item.key, item.seq)
    } else if (item.kind === 'text') {
      const at = this.open.get(openKey(item))
      if (at !== undefined) return this.join(at, item)
    }
    if (breaks.has(item.kind) && this.open.size > 0) {
      this.open = new Map()
      this.ownsOpen = true
    }
    if (item.kind === 'text') this.ownOpen().set(openKey(item), item.seq)
    this.items.push(item)
  }

  done(): Feed {
    return {
      first: this.first,
      last: this.last,
      count: this.count,
      items: this.items.done(),
      keyed: this.keyed,
      open: this.open,
      latest: this.latest,
    }
  }

  private join(at: Seq, item: Item): void {
    const index = indexOf(this.items, at)
    this.items.set(index, combine(this.items.get(index), item))
  }

  private remember(event: AbideEvent): void {
    const { seq } = event
    switch (event.type) {
      case 'mode':
        this.latest.mode = { seq, value: event.data }
        if (event.data.modes) this.latest.modes = { seq, value: event.data.modes }
        break
      case 'config':
        this.latest.config = { seq, value: event.data }
        break
      case 'commands':
        this.latest.commands = { seq, value: event.data }
        break
      case 'usage':
        this.latest.usage = { seq, value: event.data }
        break
      case 'turn_interrupted':
        this.latest.cut = new Map([...(this.latest.cut ?? []), [event.data.prompt_id, event.data.reason]])
        break
      case 'title':
        this.latest.title = { seq, value: event.data }
        break
    }
  }

  private ownKeyed(): Map<string, Seq> {
    if (!this.ownsKeyed) this.keyed = new Map(this.keyed)
    this.ownsKeyed = true
    return this.keyed as Map<string, Seq>
  }

  private ownOpen(): Map<string, Seq> {
    if (!this.ownsOpen) this.open = new Map(this.open)
    this.ownsOpen = true
    return this.open as Map<string, Seq>
  }
}

function openKey(item: TextItem): string {
  return `${item.role}:${item.turn}:${item.messageId}`
}
