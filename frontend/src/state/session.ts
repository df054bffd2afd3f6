import type {
  AbideEvent,
  EventsLoadedMessage,
  EventsMessage,
  ReadingMessage,
  ResetReason,
  Seq,
  StateMessage,
} from '../wire/gen'
import { exactState } from './exact'
import { after, before, emptyFeed, find, type Feed } from './feed'

/** Events kept beyond a gap; events that do not fit are loaded again. */
const heldMax = 2000

/** The app's data of one followed session. */
export interface SessionState {
  readonly id: string
  /** loading until the first events_loaded; gone when the hub says so. */
  readonly status: 'loading' | 'ready' | 'gone'
  /** Identity of the log the events came from; null before the first answer. */
  readonly epoch: string | null
  /** All events held; feed.last is the cursor. */
  readonly feed: Feed
  /** A stretch apart from the live run, on screen while the reader is there; ends below feed.first. */
  readonly window: Feed | null
  /** A seq a person wants to see that is not held yet. */
  readonly seeking: Seq | null
  /** Events after a gap, waiting for those between; ascending. */
  readonly held: readonly AbideEvent[]
  /** The lowest seq the log still has, and the highest the hub spoke of. */
  readonly minSeq: Seq
  readonly maxSeq: Seq
  /** State that reflects events up to the cursor. */
  readonly live: StateMessage | null
  /** State that is ahead of the cursor. */
  readonly ahead: StateMessage | null
  /** How far the hub has read the session to learn its state, in percent; null when it knows it. */
  readonly reading: number | null
  /** Set when the hub replaced the events, until the person has seen it. */
  readonly reset: { reason: ResetReason } | null
  /** The hub answered with another epoch than the events': follow anew. */
  readonly stale: boolean
  /** The hub has said where the log ends since the person came to the session. */
  readonly answered: boolean
  /** Why the hub cannot open it, in words for a person; null unless it said so last. */
  readonly shut: string | null
  /** The newest version of its comments that the hub spoke of. */
  readonly comments: number
}

export function newSession(id: string): SessionState {
  return {
    id,
    status: 'loading',
    epoch: null,
    feed: emptyFeed(0),
    window: null,
    seeking: null,
    held: [],
    minSeq: 1,
    maxSeq: 0,
    live: null,
    ahead: null,
    reading: null,
    reset: null,
    stale: false,
    answered: false,
    shut: null,
    comments: 0,
  }
}

/** Where to go on from: null when nothing is held and the newest page will do. */
export function cursor(session: SessionState): { epoch: string; seq: Seq } | null {
  if (session.epoch === null || session.status !== 'ready') return null
  return { epoch: session.epoch, seq: session.feed.last }
}

/** Begins with events kept from an earlier visit; the hub may still say otherwise. */
export function onCached(session: SessionState, epoch: string, events: readonly AbideEvent[]): SessionState {
  const first = events[0]
  const last = events.at(-1)
  if (session.epoch !== null || !first || !last) return session
  const feed = after(emptyFeed((first.first_seq ?? first.seq) - 1), events)
  return settle({ ...session, status: 'ready', epoch, feed, maxSeq: Math.max(session.maxSeq, last.seq) })
}

/** Applies new events of a followed session. */
export function onEvents(session: SessionState, frame: EventsMessage): SessionState {
  if (session.epoch === null) return session // nothing says where the run begins
  if (frame.epoch !== session.epoch) return { ...session, stale: true }
  return settle(apply({ ...session, maxSeq: Math.max(session.maxSeq, frame.max_seq) }, frame.events))
}

/** Applies a page: the start of following, the events of a gap, or older events. */
export function onEventsLoaded(was: SessionState, frame: EventsLoadedMessage): SessionState {
  const session = { ...was, shut: null, answered: was.answered || !frame.prepend }
  const marks = { minSeq: frame.min_seq, maxSeq: Math.max(frame.max_seq, 0) }
  if (frame.verdict === 'reset') {
    return settle({
      ...newSession(session.id),
      ...marks,
      status: 'ready',
      answered: true,
      epoch: frame.epoch,
      feed: after(emptyFeed(frame.first_seq - 1), frame.events),
      reset: session.epoch === null ? null : { reason: frame.reason ?? 'epoch' },
    })
  }
  if (frame.prepend && session.epoch !== null) return prepend({ ...session, ...marks }, frame)
  if (session.epoch === null) {
    return settle({
      ...session,
      ...marks,
      status: 'ready',
      epoch: frame.epoch,
      feed: after(emptyFeed(frame.first_seq - 1), frame.events),
    })
  }
  if (frame.epoch !== session.epoch) return { ...session, stale: true }
  return settle(apply({ ...session, ...marks, stale: false }, frame.events))
}

/** Takes the whole of the session's state, or holds it until the cursor is there. */
export function onState(session: SessionState, frame: StateMessage): SessionState {
  const exact = exactState(frame)
  return exact ? settle({ ...session, ahead: exact, reading: null }) : session
}

/** Takes how far the hub has read the session. */
export function onReading(session: SessionState, frame: ReadingMessage): SessionState {
  return { ...session, reading: Math.floor((100 * frame.at_seq) / Math.max(frame.max_seq, 1)) }
}

/** Whether an event before the held ones is missing. */
export function hasGap(session: SessionState): boolean {
  return session.held.length > 0
}

/** Whether the log has events older than those held. */
export function hasOlder(session: SessionState): boolean {
  return session.status === 'ready' && session.feed.first > session.minSeq
}

/** Permission requests that wait for an answer but are not among the held events. */
export function missingPermissions(session: SessionState): readonly string[] {
  return (session.live?.pending_permissions ?? []).filter(
    (id) => find(session.feed, 'permission', `permission:${id}`)?.ask === undefined,
  )
}

/**
 * The apply rule: at or below the cursor, drop; next, apply; higher, hold. A
 * merged run that the cursor cuts in two is held as well: its text cannot be
 * cut, so the rest is loaded from the cursor, where the hub never merges.
 */
function apply(session: SessionState, events: readonly AbideEvent[]): SessionState {
  let at = session.feed.last
  const next: AbideEvent[] = []
  const held: AbideEvent[] = []
  for (const event of inOrder(events, session.held)) {
    const first = event.first_seq ?? event.seq
    if (event.seq <= at) continue
    if (first === at + 1) {
      next.push(event)
      at = event.seq
    } else {
      held.push(event)
    }
  }
  return {
    ...session,
    feed: after(session.feed, next),
    held: held.filter((e) => e.seq > at).slice(0, heldMax),
  }
}

function inOrder(events: readonly AbideEvent[], held: readonly AbideEvent[]): readonly AbideEvent[] {
  if (held.length === 0) return events
  return [...events, ...held].sort((a, b) => (a.first_seq ?? a.seq) - (b.first_seq ?? b.seq) || a.seq - b.seq)
}

function prepend(session: SessionState, frame: EventsLoadedMessage): SessionState {
  if (frame.epoch !== session.epoch) return { ...session, stale: true }
  // Asked for before a window opened: the live run must not grow over it.
  if (session.window !== null) return session
  const events = frame.events.filter((e) => e.seq < session.feed.first)
  const first = events[0]
  const last = events[events.length - 1]
  if (first === undefined || last === undefined) return session
  if (last.seq !== session.feed.first - 1) return session // not the page that is next
  const page = after(emptyFeed((first.first_seq ?? first.seq) - 1), events)
  return { ...session, feed: before(page, session.feed) }
}

/** Adopts held state once the cursor has reached it. */
function settle(session: SessionState): SessionState {
  const { ahead } = session
  if (ahead === null || session.status !== 'ready' || ahead.at_seq > session.feed.last) return session
  return { ...session, live: ahead, ahead: null }
}
