import type { AppState } from './app'
import type { Left } from './catchup'
import { FirstUnread, newest, type Read } from './read'
import { behind } from './select'

/** A person who was away for longer than this is told about missed events. */
const awayMs = 60_000

/**
 * Decides, each time a person comes back to a session, which events are unread and whether to show
 * a summary of missed ones.
 */
export class Absence {
  readonly unread = new FirstUnread()
  /** Reading elsewhere counts once, with the mark from before this screen reads. */
  private merged = false
  /** How far it was when they last looked, while they do. */
  private seen: Read | null = null
  /** They left by a sleep of the device: the link's earlier state says nothing. */
  private slept = false

  /** `left` is how the person left the session when this device last showed it. */
  constructor(
    private readonly id: string,
    private left: Read | null,
  ) {}

  /** The person stops looking at the session as it is now. */
  leave(state: AppState, now: number): void {
    this.seen = null
    this.begin(this.place(state, now), state, now)
  }

  /**
   * Takes the newest state, and whether they look at it. Returns where they left if they are to be
   * told, else null. Decided once, when they look and the newest of the session is here: later
   * events are being watched. Called at least each second while they do: a clock that went on by
   * more than a minute in between says that the device slept with the page in front.
   */
  look(state: AppState, now: number, looking: boolean): Left | null {
    this.merge(state, now)
    if (!looking) return null
    const { seen } = this
    this.seen = this.place(state, now)
    if (seen && now - seen.at > awayMs && !this.left) {
      this.begin(seen, state, now)
      this.slept = true
    }
    const { left } = this
    const session = state.sessions.get(this.id)
    if (!left || !state.listed || !session?.epoch || !session.answered) return null
    if (state.link.phase !== 'open' || behind(session) > 0) return null
    if (this.slept && state.link.since <= left.at) return null
    // The list may know more than the hub's answer does by now.
    const line = state.list?.get(this.id)
    if (line?.epoch === session.epoch && line.max_seq > session.feed.last) return null
    this.left = null
    this.slept = false
    if (session.epoch !== left.epoch || session.feed.last <= left.seq) return null
    this.unread.begin(Math.max(left.seq + 1, session.minSeq)) // removed events can no longer be read
    return now - left.at > awayMs ? left : null
  }

  private begin(left: Read | null, state: AppState, now: number): void {
    if (!left) return
    this.left = left
    this.merged = false
    this.merge(state, now)
  }

  private place(state: AppState, at: number): Read | null {
    const session = state.sessions.get(this.id)
    return session?.epoch ? { epoch: session.epoch, seq: session.feed.last, at } : null
  }

  private merge(state: AppState, now: number): void {
    if (this.merged || !state.listed) return
    this.left = newest(this.left, state.list?.get(this.id), now)
    this.merged = true
  }
}
