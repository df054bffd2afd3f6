import type { EventsLoadedMessage, Seq } from '../wire/gen'
import { after, before, emptyFeed, part, type Feed } from './feed'
import type { Item } from './items'
import type { SessionState } from './session'

/** Items a window holds at most, and how many are left when it is cut. */
const windowMax = 4000
const windowKept = 3000

/** The source of the feed on screen: the window while the reader is away, else the live run. */
export function shownFeed(session: SessionState): Feed {
  return session.window ?? session.feed
}

/** Whether the log has events before those on screen. */
export function hasBefore(session: SessionState): boolean {
  return session.status === 'ready' && shownFeed(session).first > session.minSeq
}

/** The seq of the log nearest to the one asked for. */
export function nearest(session: SessionState, seq: Seq): Seq {
  return Math.max(session.minSeq, Math.min(seq, session.feed.last))
}

/** Whether a seq is among the events on screen. */
export function isShown(session: SessionState, seq: Seq): boolean {
  const { first, last } = shownFeed(session)
  return first <= seq && seq <= last
}

/**
 * Wants a seq on screen. One of the live run ends the window; any other is to be loaded, and the
 * present rows stay on screen until it came. null gives up the wish.
 */
export function onSeek(session: SessionState, seq: Seq | null): SessionState {
  if (seq === null) return { ...session, seeking: null }
  const wanted = nearest(session, seq)
  if (wanted >= session.feed.first) return onLive(session)
  if (isShown(session, wanted)) return { ...session, seeking: null }
  return { ...session, seeking: wanted }
}

/** Goes back to the live run, which was applied all the while. */
export function onLive(session: SessionState): SessionState {
  return session.window === null && session.seeking === null
    ? session
    : { ...session, window: null, seeking: null }
}

/**
 * Takes a page of the window: the one around `target`, or the next on either side. A page that no
 * longer fits the window is dropped. The live run and its cursor are not touched but where the
 * window has reached it: then they are one.
 */
export function onWindowPage(
  session: SessionState,
  frame: EventsLoadedMessage,
  target: Seq | null,
): SessionState {
  if (frame.verdict === 'reset' || frame.epoch !== session.epoch) {
    return { ...onLive(session), stale: true }
  }
  const marked = { ...session, minSeq: frame.min_seq, maxSeq: Math.max(session.maxSeq, frame.max_seq) }
  // Events that the live run has are taken from there.
  const events = frame.events.filter((e) => e.seq < session.feed.first)
  const head = events[0]
  const tail = events.at(-1)
  if (!head || !tail) {
    // Nothing there, though the log should go on: the newest events are better than asking for
    // ever.
    const lost = target === null ? !frame.prepend : target === session.seeking
    return lost ? onLive(marked) : marked
  }
  const first = head.first_seq ?? head.seq
  if (target !== null) {
    if (target !== session.seeking) return marked
    return meet({ ...marked, seeking: null, window: after(emptyFeed(first - 1), events) })
  }
  const { window } = session
  if (window === null) return marked
  if (tail.seq === window.first - 1) {
    const page = after(emptyFeed(first - 1), events)
    return { ...marked, window: withoutEnd(before(page, window)) }
  }
  if (first === window.last + 1) return meet({ ...marked, window: withoutStart(after(window, events)) })
  return marked
}

/** Makes the window part of the live run once nothing is between them. */
function meet(session: SessionState): SessionState {
  const { window, feed } = session
  if (window === null || window.last !== feed.first - 1) return session
  return { ...session, window: null, feed: before(window, feed) }
}

function withoutStart(feed: Feed): Feed {
  const { items } = feed
  if (items.length <= windowMax) return feed
  const at = seam(items, items.length - windowKept)
  return at === items.length ? feed : part(feed, at, items.length)
}

function withoutEnd(feed: Feed): Feed {
  const { items } = feed
  if (items.length <= windowMax) return feed
  const at = seam(items, windowKept)
  return at === items.length ? feed : part(feed, 0, at)
}

/**
 * The first place from `from` on that no item reaches across. Cut anywhere else,
 * an item would come back without the events it has beyond the cut.
 */
function seam(items: { get(i: number): Item; length: number }, from: number): number {
  let reach = 0
  for (let i = 0; i < items.length; i++) {
    const item = items.get(i)
    if (i >= from && reach < item.seq) return i
    reach = Math.max(reach, item.last)
  }
  return items.length
}
