import { cursor, hasGap, hasOlder, missingPermissions, type SessionState } from '../state/session'
import type { Store } from '../state/store'
import type { ClientMessage, ServerMessage } from '../wire/gen'
import type { EventCache, Hint } from './cache'
import type { Purpose, Requests } from './requests'

/** Events of the newest page a session begins with, and of an older page. */
const tail = 100
const page = 200
/** A window begins with a page around its seq: how many events before it, and in all. */
const lead = 100
const around = 240
/** Pages loaded by itself to find a pending request. */
const searchPages = 20
/** Sessions held in memory beside the one followed: going back is instant. */
const heldSessions = 4

/**
 * Follows one session: says where to dial, asks for missing events, and joins the cache's events
 * with the hub's.
 */
export class Follower {
  private id: string | null = null
  private searched = 0
  /** While the cache is read: its promise, and the frames that came meanwhile. */
  private reading: { hint: Hint; frames: ServerMessage[] } | null = null
  private readonly recent: string[] = []
  private reopening: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly store: Store,
    private readonly requests: Requests,
    private readonly send: (message: ClientMessage) => boolean,
    private readonly cache: EventCache | null,
  ) {}

  /** The session followed, unless it is gone. */
  current(): SessionState | null {
    const session = this.id === null ? undefined : this.store.state.sessions.get(this.id)
    return session === undefined || session.status === 'gone' ? null : session
  }

  /** Follows a session from where the app left it, and no other. */
  follow(id: string | null): void {
    if (this.id === id) return
    if (this.id !== null) {
      this.send({ type: 'unobserve', session_id: this.id })
      this.store.dispatch({ kind: 'leave', sessionId: this.id })
    }
    this.id = id
    this.searched = 0
    this.reading = null
    if (id === null) return
    this.remember(id)
    this.store.dispatch({ kind: 'open', sessionId: id })
    const hint = this.current()?.status === 'loading' ? this.cache?.hint(id) : null
    if (hint) void this.readCache(id, hint)
    this.observe()
  }

  /** Where to dial: straight into the replay of the followed session. */
  url(origin: string): string {
    const session = this.current()
    if (session === null || session.shut !== null) return `${origin}/api/ws`
    const at = this.place(session)
    const query = at ? `after_seq=${at.seq}&epoch=${at.epoch}` : `tail=${tail}`
    return `${origin}/api/sessions/${encodeURIComponent(session.id)}/ws?${query}&merge=true`
  }

  /** Follows a session anew that was shut, if it is the one followed. */
  again(id: string): void {
    if (this.id === id) this.observe()
  }

  /** The hub cannot open a session now: it is asked again when the hub says, if it is followed still. */
  shut(sessionId: string, reason: string, retryAfterMs = 0): void {
    this.store.dispatch({ kind: 'shut', sessionId, reason })
    clearTimeout(this.reopening)
    if (retryAfterMs > 0) {
      this.reopening = setTimeout(() => this.current()?.shut != null && this.again(sessionId), retryAfterMs)
    }
  }

  /** A socket dialled to `target` is the connection now. */
  adopted(target: string): void {
    const session = this.current()
    // If it was dialled to the session followed now, the socket replays without being asked.
    if (session && !target.includes(`/${session.id}/`)) this.observe()
  }

  /** Takes a frame into the state, now or once the cache is read. */
  frame(frame: ServerMessage, purpose?: Purpose): void {
    if (purpose?.kind === 'window') {
      // The cache and the cursor belong to the live run, not to a window.
      if (frame.type === 'events_loaded') {
        this.store.dispatch({ kind: 'window_page', frame, target: purpose.target })
      }
      return
    }
    if (this.reading && 'session_id' in frame && frame.session_id === this.id) {
      this.reading.frames.push(frame)
      return
    }
    this.store.dispatch({ kind: 'frame', frame })
    const isNews = frame.type === 'events' || frame.type === 'events_loaded'
    if (isNews && frame.session_id === this.id) this.cache?.offer(frame)
    if (frame.type === 'session_gone') this.cache?.forget(frame.session_id)
    if (frame.type === 'session' && frame.session.session_id === this.id && !this.current()) {
      this.store.dispatch({ kind: 'open', sessionId: this.id }) // it was restored
      this.observe()
    }
  }

  older(sessionId: string, limit = page): void {
    const session = this.store.state.sessions.get(sessionId)
    if (!session) return
    if (session.window) {
      if (session.window.first > session.minSeq) {
        this.askWindow(session, null, { before_seq: session.window.first, limit, merge: true })
      }
      return
    }
    if (!hasOlder(session) || this.requests.has('older', sessionId)) return
    const request_id = this.requests.add({ kind: 'older', sessionId })
    const asked = this.send({
      type: 'load_events',
      request_id,
      session_id: sessionId,
      epoch: session.epoch ?? undefined,
      before_seq: session.feed.first,
      limit,
      merge: true,
    })
    if (!asked) this.requests.settle(request_id)
  }

  /** Asks for the page after the window, unmerged: where it meets the live run it must end exactly. */
  newer(sessionId: string): void {
    const session = this.store.state.sessions.get(sessionId)
    if (session?.window) this.askWindow(session, null, { after_seq: session.window.last, limit: around })
  }

  /** Asks for the events that the state lacks. */
  ask(): void {
    const session = this.current()
    const at = session && cursor(session)
    if (!session || !at) return
    const { seeking } = session
    if (seeking !== null && !session.stale) {
      const after_seq = Math.max(session.minSeq, seeking - lead) - 1
      this.askWindow(session, seeking, { after_seq, limit: around })
    }
    if (session.stale) {
      if (!this.requests.has('observe', session.id)) this.observe()
    } else if (hasGap(session)) {
      if (this.requests.has('gap', session.id)) return
      const request_id = this.requests.add({ kind: 'gap', sessionId: session.id })
      const { epoch, seq: after_seq } = at
      this.send({ type: 'load_events', request_id, session_id: session.id, epoch, after_seq, limit: 500 })
    } else if (missingPermissions(session).length > 0 && this.searched < searchPages) {
      // Found or not, it is the live run's: a window pages when the reader scrolls.
      if (session.window || this.requests.has('older', session.id)) return
      this.searched++
      this.older(session.id)
    }
  }

  private askWindow(
    session: SessionState,
    target: number | null,
    which: { before_seq?: number; after_seq?: number; limit: number; merge?: boolean },
  ): void {
    if (this.requests.has('window', session.id)) return
    const request_id = this.requests.add({ kind: 'window', sessionId: session.id, target })
    const epoch = session.epoch ?? undefined
    const asked = this.send({ type: 'load_events', request_id, session_id: session.id, epoch, ...which })
    if (!asked) this.requests.settle(request_id)
  }

  private observe(): void {
    const session = this.current()
    if (!session) return
    const at = this.place(session)
    const request_id = this.requests.add({ kind: 'observe', sessionId: session.id })
    const from = at ? { after_seq: at.seq, epoch: at.epoch } : { tail }
    const asked = this.send({ type: 'observe', request_id, session_id: session.id, merge: true, ...from })
    if (!asked) this.requests.settle(request_id)
  }

  private place(session: SessionState): { epoch: string; seq: number } | null {
    const { reading } = this
    return reading ? { epoch: reading.hint.epoch, seq: reading.hint.last } : cursor(session)
  }

  /**
   * Dials from where the cache's promise ends while the cache is still being
   * read. If it cannot keep the promise, the session begins anew with a page.
   */
  private async readCache(id: string, hint: Hint): Promise<void> {
    const reading = (this.reading = { hint, frames: [] as ServerMessage[] })
    const events = (await this.cache?.load(id, hint).catch(() => null)) ?? null
    if (this.reading !== reading) return // something else is followed now
    this.reading = null
    if (events === null) {
      this.cache?.forget(id)
      // A reset that came meanwhile is a whole beginning; anything else is not.
      const reset = reading.frames.findIndex((f) => f.type === 'events_loaded' && f.verdict === 'reset')
      if (reset < 0) return this.observe()
      for (const frame of reading.frames.slice(reset)) this.frame(frame)
      return
    }
    this.store.dispatch({ kind: 'cached', sessionId: id, epoch: hint.epoch, events })
    for (const frame of reading.frames) this.frame(frame)
    this.ask()
  }

  private remember(id: string): void {
    const at = this.recent.indexOf(id)
    if (at >= 0) this.recent.splice(at, 1)
    this.recent.push(id)
    while (this.recent.length > heldSessions) {
      this.store.dispatch({ kind: 'close', sessionId: this.recent.shift()! })
    }
  }
}
