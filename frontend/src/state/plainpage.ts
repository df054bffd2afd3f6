import type { AbideEvent, EventsLoadedMessage, Seq } from '../wire/gen'
import { after, emptyFeed, type Feed } from './feed'
import { rowsOf, type Row } from './rows'

/** How many seqs a page is cut from; where a prompt begins the page, it has up to as many again. */
export const pageSeqs = 2000

/** As many events as the hub sends at once. */
const answerSeqs = 500

/** Asks the hub for events after a seq, as they are in the log, runs of chunks merged. */
export type Ask = (after: Seq, limit: number) => Promise<EventsLoadedMessage>

/** One page of a session's log: whole turns, unless a turn is longer than a page. */
export interface PlainPage {
  /** From 1; the log is cut every `pageSeqs`, so that a page keeps its number while the log grows. */
  number: number
  /** The lowest number that has events, and the highest. */
  lowest: number
  highest: number
  minSeq: Seq
  maxSeq: Seq
  /** Its events, `feed.first` to `feed.last`. */
  feed: Feed
  /** It begins, or ends, in the middle of a turn. */
  cutBefore: boolean
  cutAfter: boolean
}

/**
 * Loads a page. A page begins with the first prompt of its cut, or with the cut itself where a
 * turn fills it, and ends before the next page: the pages of a log are its events, each once.
 * A number the log does not reach is the nearest one. `progress` hears how many seqs have come.
 */
export async function loadPage(
  wanted: number,
  ask: Ask,
  progress: (seqs: number) => void,
  size = pageSeqs,
): Promise<PlainPage> {
  const ends = await ask(0, 1)
  const lowest = numberOf(ends.min_seq, size)
  const highest = Math.max(lowest, numberOf(ends.max_seq, size))
  /** The first seq of a cut. */
  const cutOf = (n: number): Seq => (n - 1) * size + 1
  const number = Math.max(lowest, Math.min(wanted, highest))
  const seen = (events: readonly AbideEvent[]) => progress(events.length)
  const cut = await loadCut(Math.max(cutOf(number), ends.min_seq), cutOf(number + 1) - 1, ask, seen)
  const next =
    number < highest ? await loadToPrompt(cutOf(number + 1), size, ask) : { events: [], prompt: true }
  // The first page also has the events that no page before it has.
  const begin = number === lowest ? 0 : Math.max(0, cut.findIndex(isPrompt))
  const events = [...cut.slice(begin), ...next.events]
  const first = events[0] ? firstOf(events[0]) : ends.max_seq + 1
  return {
    number,
    lowest,
    highest,
    minSeq: ends.min_seq,
    maxSeq: Math.max(ends.max_seq, events.at(-1)?.seq ?? 0),
    feed: after(emptyFeed(first - 1), events),
    cutBefore: number > lowest && events[0] !== undefined && !isPrompt(events[0]),
    cutAfter: !next.prompt,
  }
}

/** Rows of a page, each tool call by itself. */
export function rowsOfPage(feed: Feed): readonly Row[] {
  return rowsOf(feed).flatMap((row): Row[] =>
    row.kind === 'group'
      ? row.tools.map((item) => ({ kind: 'item', key: item.key, item }))
      : [row, ...(row.calls ?? []).map((item): Row => ({ kind: 'item', key: item.key, item }))],
  )
}

/** The number of the page that is cut where this seq is. */
export function numberOf(seq: Seq, size = pageSeqs): number {
  return Math.max(1, Math.ceil(seq / size))
}

function isPrompt(event: AbideEvent): boolean {
  return event.type === 'user_prompt'
}

function firstOf(event: AbideEvent): Seq {
  return event.first_seq ?? event.seq
}

/** Events from..to, fewer where the log ends; `seen` hears of each answer's. */
async function loadCut(
  from: Seq,
  to: Seq,
  ask: Ask,
  seen: (events: readonly AbideEvent[]) => void,
): Promise<AbideEvent[]> {
  const events: AbideEvent[] = []
  for (let at = from - 1; at < to;) {
    const answer = await ask(at, Math.min(answerSeqs, to - at))
    if (answer.verdict === 'reset') throw new Error(t`The log has changed meanwhile. Load the page again.`)
    if (answer.events.length === 0) break
    events.push(...answer.events)
    at = answer.last_seq
    seen(events)
    if (!answer.has_more) break
  }
  return events
}

/**
 * The rest of a turn that goes on beyond a cut, up to the next prompt; nothing if it fills the next
 * page.
 */
async function loadToPrompt(
  from: Seq,
  size: number,
  ask: Ask,
): Promise<{ events: readonly AbideEvent[]; prompt: boolean }> {
  const events: AbideEvent[] = []
  for (let at = from; at < from + size;) {
    const part = await loadCut(at, Math.min(at + answerSeqs, from + size) - 1, ask, () => {})
    const end = part.findIndex(isPrompt)
    if (end >= 0) return { events: [...events, ...part.slice(0, end)], prompt: true }
    events.push(...part)
    if (part.length === 0) break
    at = part.at(-1)!.seq + 1
  }
  return { events: [], prompt: false }
}
