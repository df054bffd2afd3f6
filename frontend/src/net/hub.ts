import type { Intents, NewSession } from '../state/intents'
import { cursor, hasGap, hasOlder, missingPermissions, type SessionState } from '../state/session'
import type { Store } from '../state/store'
import type { ClientMessage, ServerMessage } from '../wire/gen'
import { api, ApiError } from './api'
import { Connection } from './connection'
import type { Refusal } from './machine'
import type { Outbox } from './outbox'
import { Requests } from './requests'

/** Events of the newest page a session begins with, and of an older page. */
const tail = 100
const page = 200
/** Pages loaded by itself to find a pending request. */
const searchPages = 20

/** Joins the connection and the state: frames in by dispatch, what a person asks out. */
export class Hub implements Intents {
  readonly connection: Connection
  readonly requests = new Requests()
  private outbox: Outbox | null = null
  private followed: string | null = null
  private searched = 0

  constructor(private readonly store: Store) {
    this.connection = new Connection({
      url: () => socketURL(this.current()),
      adopted: (target) => this.adopted(target),
      frame: (frame) => this.frame(frame),
      unknown: () => store.dispatch({ kind: 'unknown_frame' }),
      link: (link) => store.dispatch({ kind: 'link', link }),
      health: () => this.health(),
    })
  }

  start(outbox: Outbox): void {
    this.outbox = outbox
    this.connection.start()
  }

  send = (message: ClientMessage): boolean => this.connection.send(message)

  follow(sessionId: string | null): void {
    if (this.followed === sessionId) return
    if (this.followed !== null) this.send({ type: 'unobserve', session_id: this.followed })
    this.followed = sessionId
    this.searched = 0
    if (sessionId === null) return
    this.store.dispatch({ kind: 'open', sessionId })
    this.observe()
  }

  older(sessionId: string): void {
    const session = this.store.state.sessions.get(sessionId)
    if (!session || !hasOlder(session) || this.requests.has('older', sessionId)) return
    const request_id = this.requests.add({ kind: 'older', sessionId })
    const epoch = session.epoch ?? undefined
    const before_seq = session.feed.first
    const asked = this.send({
      type: 'load_events',
      request_id,
      session_id: sessionId,
      epoch,
      before_seq,
      limit: page,
      merge: true,
    })
    if (!asked) this.requests.settle(request_id)
  }

  prompt(sessionId: string, text: string): void {
    void this.outbox?.add({ id: crypto.randomUUID(), sessionId, kind: 'prompt', text })
  }

  answer(sessionId: string, permissionId: string, optionId: string): void {
    void this.outbox?.add({ id: permissionId, sessionId, kind: 'answer', text: '', optionId })
  }

  retry(id: string): void {
    this.outbox?.retry(id)
  }

  drop(id: string): void {
    this.outbox?.drop(id)
  }

  cancel(session_id: string): void {
    this.verb(session_id, (request_id) => ({ type: 'cancel', request_id, session_id }))
  }

  forceReset(session_id: string): void {
    this.verb(session_id, (request_id) => ({ type: 'force_reset', request_id, session_id }))
  }

  queueEdit(session_id: string, prompt_id: string, text: string): void {
    this.verb(session_id, (request_id) => ({ type: 'queue_edit', request_id, session_id, prompt_id, text }))
  }

  queueMove(session_id: string, prompt_id: string, position: number): void {
    this.verb(session_id, (request_id) => ({
      type: 'queue_move',
      request_id,
      session_id,
      prompt_id,
      position,
    }))
  }

  queueRemove(session_id: string, prompt_id: string): void {
    this.verb(session_id, (request_id) => ({ type: 'queue_remove', request_id, session_id, prompt_id }))
  }

  queueClear(session_id: string): void {
    this.verb(session_id, (request_id) => ({ type: 'queue_clear', request_id, session_id }))
  }

  setMode(session_id: string, mode_id: string): void {
    this.verb(session_id, (request_id) => ({ type: 'set_mode', request_id, session_id, mode_id }))
  }

  setConfigOption(session_id: string, config_id: string, value: unknown): void {
    this.verb(session_id, (request_id) => ({
      type: 'set_config_option',
      request_id,
      session_id,
      config_id,
      value,
    }))
  }

  typing(session_id: string): void {
    this.send({ type: 'presence', session_id, activity: 'typing' })
  }

  dismissProblem(id: number): void {
    this.store.dispatch({ kind: 'problem_seen', id })
  }

  dismissReset(sessionId: string): void {
    this.store.dispatch({ kind: 'reset_seen', sessionId })
  }

  reconnect(): void {
    this.connection.start()
    this.connection.wake(true)
  }

  async refresh(): Promise<void> {
    try {
      this.store.dispatch({ kind: 'listed', sessions: await api.sessions() })
    } catch (error) {
      this.store.dispatch({ kind: 'list_failed', text: (error as Error).message })
    }
  }

  choices = api.choices

  async create(request: NewSession) {
    const session = await api.create(request)
    this.store.dispatch({ kind: 'list_changed', session })
    return session
  }

  async update(
    sessionId: string,
    change: { name?: string; pinned?: boolean; archived?: boolean },
  ): Promise<void> {
    this.store.dispatch({ kind: 'list_changed', session: await api.update(sessionId, change) })
  }

  async remove(sessionId: string): Promise<void> {
    await api.remove(sessionId)
    this.store.dispatch({ kind: 'frame', frame: { type: 'session_gone', session_id: sessionId } })
  }

  async pair(code: string): Promise<void> {
    await api.pair(code, deviceName(navigator.userAgent))
    this.connection.start()
  }

  private verb(sessionId: string, make: (requestId: string) => ClientMessage): void {
    const requestId = this.requests.add({ kind: 'verb', sessionId })
    if (this.send(make(requestId))) return
    this.requests.settle(requestId)
    this.store.dispatch({ kind: 'problem', sessionId, text: 'Not connected: try again in a moment.' })
  }

  private current(): SessionState | null {
    const session = this.followed === null ? undefined : this.store.state.sessions.get(this.followed)
    return session === undefined || session.status === 'gone' ? null : session
  }

  private adopted(target: string): void {
    this.requests.clear()
    const session = this.current()
    // Dialled to what is followed now, the socket replays without being asked.
    if (session && !target.includes(`/${session.id}/`)) this.observe()
    this.outbox?.resend()
    void this.refresh()
  }

  private observe(): void {
    const session = this.current()
    if (!session) return
    const at = cursor(session)
    const request_id = this.requests.add({ kind: 'observe', sessionId: session.id })
    this.send({
      type: 'observe',
      request_id,
      session_id: session.id,
      merge: true,
      ...(at ? { after_seq: at.seq, epoch: at.epoch } : { tail }),
    })
  }

  private frame(frame: ServerMessage): void {
    const purpose = 'request_id' in frame ? this.requests.settle(frame.request_id) : undefined
    this.store.dispatch({ kind: 'frame', frame })
    if (purpose?.kind === 'outbox') this.outbox?.answered(purpose.id, frame)
    else if (frame.type === 'error') {
      this.store.dispatch({ kind: 'problem', sessionId: purpose?.sessionId, text: frame.message })
      return // what was refused is not asked again at once
    }
    this.ask()
  }

  /** Asks for what the state says is missing. */
  private ask(): void {
    const session = this.current()
    const at = session && cursor(session)
    if (!session || !at) return
    if (session.stale) {
      if (!this.requests.has('observe', session.id)) this.observe()
    } else if (hasGap(session)) {
      if (this.requests.has('gap', session.id)) return
      const request_id = this.requests.add({ kind: 'gap', sessionId: session.id })
      this.send({
        type: 'load_events',
        request_id,
        session_id: session.id,
        epoch: at.epoch,
        after_seq: at.seq,
        limit: 500,
      })
    } else if (missingPermissions(session).length > 0 && this.searched < searchPages) {
      if (this.requests.has('older', session.id)) return
      this.searched++
      this.older(session.id)
    }
  }

  private async health(): Promise<Refusal | null> {
    const session = this.current()
    const refusal = await api.refusal()
    if (refusal !== null || session === null) return refusal
    try {
      await api.session(session.id)
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 400)) {
        this.store.dispatch({ kind: 'frame', frame: { type: 'session_gone', session_id: session.id } })
        this.connection.wake(true)
      }
    }
    return null
  }
}

/** The socket that replays a session by itself, or the one of no session. */
function socketURL(session: SessionState | null): string {
  const base = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api`
  if (session === null) return `${base}/ws`
  const at = cursor(session)
  const query = at ? `after_seq=${at.seq}&epoch=${at.epoch}` : `tail=${tail}`
  return `${base}/sessions/${encodeURIComponent(session.id)}/ws?${query}&merge=true`
}

function deviceName(agent: string): string {
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0].replace('Edg', 'Edge') ?? 'Browser'
  const system = /Android|iPhone|iPad|Mac OS|Windows|Linux/.exec(agent)?.[0]
  return system ? `${browser} on ${system}` : browser
}
