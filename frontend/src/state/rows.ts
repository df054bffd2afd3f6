import type { Feed } from './feed'
import { terminalKey, toolKey } from './itemof'
import type { Item, ToolItem } from './items'
import { toolView } from './tool'
import type { Seq } from '../wire/gen'

/**
 * One place of the feed: an item, or a run of reads and searches as one line. A sub-agent's calls
 * are with the call that began it.
 */
export type Row =
  | { readonly kind: 'item'; readonly key: string; readonly item: Item; readonly calls?: readonly ToolItem[] }
  | { readonly kind: 'group'; readonly key: string; readonly tools: readonly ToolItem[] }

const grouped: ReadonlySet<string | undefined> = new Set(['read', 'search'])
const made = new WeakMap<readonly Item[], readonly Row[]>()
const single = new WeakMap<Item, Row>()
type Nested = Extract<Row, { kind: 'item' }>
const nested = new WeakMap<Item, Nested>()

/** Derives the rows of a feed. Chunks of items, and items, that did not change keep their rows. */
export function rowsOf(feed: Feed): readonly Row[] {
  const rows: Row[] = []
  const agent = new Agent()
  const terminals = new Terminals()
  const nests = new Nests(rows)
  for (const chunk of feed.items.chunks) {
    let part = made.get(chunk)
    if (!part) made.set(chunk, (part = rowsOfChunk(chunk)))
    const joined = join(rows.at(-1), part[0])
    if (joined) rows[rows.length - 1] = joined
    for (let i = joined ? 1 : 0; i < part.length; i++) {
      const row = part[i]!
      if (agent.hides(row) || terminals.hides(row) || nests.takes(row)) continue
      nests.notice(row)
      rows.push(row)
    }
  }
  nests.fill()
  return rows
}

/**
 * An idle agent that was put to sleep, and its return with its memory, are the hub's housekeeping:
 * neither is shown. A return without memory is shown, and the hub's note about it is not: it says
 * the same for readers of the log alone.
 */
class Agent {
  private asleep = false
  private forgot = false

  /** Whether a row says nothing of its own; rows come oldest first. */
  hides(row: Row): boolean {
    if (row.kind !== 'item' || row.item.kind !== 'event') return false
    const { event } = row.item
    if (event.type === 'note')
      return this.forgot && !event.data.from && event.data.method === 'abide/context_lost'
    if (event.type === 'agent_exit') return (this.asleep = event.data.reason === 'asleep')
    if (event.type !== 'agent_started') return false
    this.forgot = event.data.context_lost === true
    const woken = this.asleep && event.data.resumed !== undefined && !this.forgot
    this.asleep = false
    return woken
  }
}

/** A terminal that a call names is shown in the call's card, and not a second time by itself. */
class Terminals {
  private readonly named = new Set<string>()

  hides(row: Row): boolean {
    for (const call of toolsOf(row) ?? callOf(row))
      for (const id of toolView(call).terminals) this.named.add(terminalKey(call.turn, id))
    return row.kind === 'item' && row.item.kind === 'terminal' && this.named.has(row.item.key)
  }
}

/** Calls of sub-agents lie with the call that began them, which may itself be a sub-agent's. */
class Nests {
  /** The index of the row that shows a call. */
  private readonly at = new Map<string, number>()
  private readonly calls = new Map<number, ToolItem[]>()

  constructor(private readonly rows: Row[]) {}

  /** Notes the place of a call that is about to be added as a row of its own. */
  notice(row: Row): void {
    if (row.kind === 'item' && row.item.kind === 'tool') this.at.set(row.key, this.rows.length)
  }

  /** Whether a row is a sub-agent's call with a parent on screen: it lies with that one. */
  takes(row: Row): boolean {
    if (row.kind !== 'item' || row.item.kind !== 'tool' || row.item.parent === undefined) return false
    const at = this.at.get(toolKey(row.item.turn, row.item.parent))
    if (at === undefined) return false
    this.at.set(row.key, at)
    const calls = this.calls.get(at)
    if (calls) calls.push(row.item)
    else this.calls.set(at, [row.item])
    return true
  }

  /** Gives the parents their calls. A row is made anew only when its content changed. */
  fill(): void {
    for (const [at, calls] of this.calls) {
      const row = this.rows[at]!
      if (row.kind !== 'item') continue
      const was = nested.get(row.item)
      const same = was?.calls?.length === calls.length && was.calls.every((call, i) => call === calls[i])
      const now: Row = same ? was : { ...row, calls }
      if (!same) nested.set(row.item, now as Nested)
      this.rows[at] = now
    }
  }
}

function callOf(row: Row): readonly ToolItem[] {
  return row.kind === 'item' && row.item.kind === 'tool' ? [row.item] : []
}

/**
 * Returns the seq of the row that shows an event: a sub-agent's call is shown with the call that
 * began it.
 */
export function outer(rows: readonly Row[], seq: Seq): Seq {
  const row = rows.find((row) => row.kind === 'item' && row.calls?.some((call) => call.seq === seq))
  return row ? firstOf(row) : seq
}

/** Returns the first and last seq a row shows. */
export function span(row: Row): { first: number; last: number } {
  if (row.kind === 'item')
    return { first: row.item.seq, last: Math.max(row.item.last, ...(row.calls ?? []).map((t) => t.last)) }
  return { first: row.tools[0]!.seq, last: Math.max(...row.tools.map((t) => t.last)) }
}

/**
 * Whether a row is the one that a seq leads to: the last that begins at or before it. A plan or a call that was
 * updated later reaches over the rows begun meanwhile, so more than one may hold the seq.
 */
export function leadsTo(rows: readonly Row[], at: number, seq: Seq): boolean {
  const { first, last } = span(rows[at]!)
  const next = rows[at + 1]
  return first <= seq && (next ? seq < span(next).first : seq <= last)
}

/** Whether the item that begins at a seq begins with this row: at most one row does. */
export function beginsWith(rows: readonly Row[], at: number, seq: Seq): boolean {
  const holds = (at: number) => leadsTo(rows, at, seq) && seq <= span(rows[at]!).last
  if (leadsTo(rows, at, seq)) return holds(at)
  return at > 0 && leadsTo(rows, at - 1, seq) && !holds(at - 1)
}

/** Returns the index of the last row that begins at or before seq; -1 if none does. */
export function rowAt(rows: readonly Row[], seq: Seq): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const mid = (low + high) >> 1
    if (firstOf(rows[mid]!) <= seq) low = mid + 1
    else high = mid
  }
  return low - 1
}

function firstOf(row: Row): Seq {
  return row.kind === 'item' ? row.item.seq : row.tools[0]!.seq
}

function rowsOfChunk(items: readonly Item[]): Row[] {
  const rows: Row[] = []
  for (const item of items) {
    if (!shown(item)) continue
    let row = single.get(item)
    if (!row) single.set(item, (row = { kind: 'item', key: item.key, item }))
    const joined = join(rows.at(-1), row)
    if (joined) rows[rows.length - 1] = joined
    else rows.push(row)
  }
  return rows
}

function shown(item: Item): boolean {
  // While it waits the sheet below the feed shows it, whole.
  if (item.kind === 'permission') return item.ask !== undefined && item.outcome !== undefined
  // The end that a hub gave a call with a beginning that is not loaded yet: by itself it has no
  // title.
  if (item.kind === 'tool')
    return !(item.synthetic && item.title === undefined && item.toolKind === undefined)
  if (item.kind === 'text') return item.text !== '' || item.blobs.length > 0
  return true
}

function join(a: Row | undefined, b: Row | undefined): Row | null {
  const left = toolsOf(a)
  const right = toolsOf(b)
  if (left === null || right === null) return null
  const tools = [...left, ...right]
  return { kind: 'group', key: tools[0]!.key, tools }
}

function toolsOf(row: Row | undefined): readonly ToolItem[] | null {
  if (row === undefined) return null
  if (row.kind === 'group') return row.tools
  const { item } = row
  // A sub-agent's call goes to its parent, not into a line with others.
  return item.kind === 'tool' && item.parent === undefined && grouped.has(item.toolKind) ? [item] : null
}
