import type {
  ClientMessage,
  EventsLoadedMessage,
  Health,
  PromptAnswer,
  ServerMessage,
  SessionInfo,
} from '../wire/gen'
import { ApiError, type HubAPI } from './api'

/** Between two looks at a session while nothing rings. */
const lookMs = 2_000
/** Between two looks at the list, in looks at the session. */
const listLooks = 3
/** A socket that a way lets through is connected sooner. */
const probeMs = 3_000
/** After a stream of events ended, until it is asked for again. */
const restMs = 5_000
const page = 500

/** What the connection uses of a WebSocket. */
export type Line = Pick<WebSocket, 'readyState' | 'send' | 'close'> & {
  onmessage: ((message: MessageEvent) => void) | null
  onclose: ((close: CloseEvent) => void) | null
}

/** Whether a WebSocket comes through to the hub, which answers requests. */
function comesThrough(address: string, protocols: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new WebSocket(address, protocols)
    const done = (through: boolean) => {
      clearTimeout(late)
      resolve(through)
      socket.onmessage = socket.onclose = null
      socket.close()
    }
    const late = setTimeout(() => done(false), probeMs)
    socket.onmessage = () => done(true)
    socket.onclose = () => done(false)
  })
}

/**
 * Why a dial failed though the hub answers: the session is gone, or the hub cannot open it, or no WebSocket comes
 * through; null where trying again may help.
 */
export async function why(
  api: Pick<HubAPI, 'session'>,
  session: string | undefined,
  address: string,
  protocols: string[],
  tries: () => boolean,
): Promise<'gone' | { shut: string } | 'barred' | null> {
  try {
    if (session !== undefined) await api.session(session)
  } catch (error) {
    if (!(error instanceof ApiError)) return null
    if (error.status === 404 || error.status === 400) return 'gone'
    // The hub is well, this session is not: the next dial asks for no session.
    return error.code === 'unavailable' ? { shut: error.message } : null
  }
  return !tries() || (await comesThrough(address, protocols)) ? null : 'barred'
}

/** Where a session is followed from. */
type Place = { after_seq?: number | undefined; epoch?: string | undefined; tail?: number | undefined }

/**
 * Speaks the frames of a socket by requests, for a way to the hub that lets no WebSocket through. Events are
 * fetched from the cursor, which a stream of events only rings for: a proxy that holds the stream back delays
 * them to the next look.
 */
export class OverHTTP implements Line {
  readyState: Line['readyState'] = WebSocket.CONNECTING
  onmessage: Line['onmessage'] = null
  onclose: Line['onclose'] = null
  private readonly ended = new AbortController()
  private readonly follows = new Map<string, AbortController>()
  /** The list as it was told last, by id. */
  private listed: Map<string, string> | null = null

  constructor(
    target: string,
    private readonly api: Pick<HubAPI, 'ask' | 'respond'>,
  ) {
    void this.begin(new URL(target))
  }

  send(text: string): void {
    const message = JSON.parse(text) as ClientMessage
    void this.take(message).catch((error: ApiError) => this.refused(message, error))
  }

  close(): void {
    this.end()
  }

  private async begin(target: URL): Promise<void> {
    try {
      const { protocol, version, hub_id, scope, time, limits } = await this.api.ask<Health>(
        'GET',
        '/api/health',
      )
      if (this.ended.signal.aborted) return
      this.readyState = WebSocket.OPEN
      const heartbeat_ms = 10_000
      this.tell({
        type: 'connected',
        protocol,
        version,
        hub_id,
        client_id: '',
        heartbeat_ms,
        limits,
        scope,
        time,
      })
      const id = /\/api\/sessions\/([^/]+)\/ws$/.exec(target.pathname)?.[1]
      if (id !== undefined) {
        const number = (name: string) =>
          target.searchParams.has(name) ? Number(target.searchParams.get(name)) : undefined
        const epoch = target.searchParams.get('epoch') ?? undefined
        this.follow(decodeURIComponent(id), { after_seq: number('after_seq'), tail: number('tail'), epoch })
      }
      for (let looks = 0; !this.ended.signal.aborted; looks++) {
        if (looks % listLooks === 0) await this.list()
        await pause(lookMs, this.ended.signal)
        this.tell({ type: 'heartbeat', max_seq: {} })
      }
    } catch {
      this.end()
    }
  }

  private async take(message: ClientMessage): Promise<void> {
    const { type } = message
    if (type === 'ping') {
      await this.api.ask('GET', '/api/ready')
      return this.tell({ type: 'pong', nonce: message.nonce, time: new Date().toISOString(), max_seq: {} })
    }
    const { session_id } = message
    const at = `/api/sessions/${encodeURIComponent(session_id)}`
    const post = <T>(path: string, body?: unknown) => this.api.ask<T>('POST', at + path, body)
    switch (type) {
      case 'observe':
        return this.follow(session_id, message, message.request_id)
      case 'unobserve':
        return this.follows.get(session_id)?.abort()
      case 'load_events': {
        const { request_id } = message
        return this.tell({ ...(await this.load(session_id, message)), request_id })
      }
      case 'prompt': {
        const { request_id, prompt_id, text, attachments, when, scheduled_at } = message
        const body = { prompt_id, text, attachments, when, scheduled_at }
        const { outcome, seq = 0, position = 0 } = await post<PromptAnswer>('/prompt', body)
        const is = { request_id, session_id, prompt_id }
        this.tell(
          outcome === 'queued'
            ? { type: 'prompt_queued', ...is, position }
            : { type: 'prompt_received', ...is, seq },
        )
        return this.ring(session_id)
      }
      case 'permission_answer': {
        const { request_id, permission_id, option_id, content, seen_seq, remember } = message
        const body = { option_id, content, seen_seq, remember }
        const resolved = await post<Omit<ServerMessage & { type: 'permission_resolved' }, 'type'>>(
          `/permissions/${encodeURIComponent(permission_id)}`,
          body,
        )
        this.tell({ ...resolved, type: 'permission_resolved', request_id })
        return this.ring(session_id)
      }
      case 'cancel':
        await post('/cancel')
        break
      case 'force_reset':
        await post('/force-reset')
        break
      case 'restart_agent':
        await post('/restart')
        break
      case 'authenticate':
        await post('/authenticate', { method_id: message.method_id })
        break
      case 'set_mode':
        await post('/mode', { mode_id: message.mode_id })
        break
      case 'set_config_option':
        await post('/option', { config_id: message.config_id, value: message.value })
        break
      case 'queue_edit':
        await this.api.ask('PATCH', `${at}/queue/${message.prompt_id}`, { text: message.text })
        break
      case 'queue_move':
        await this.api.ask('PATCH', `${at}/queue/${message.prompt_id}`, { position: message.position })
        break
      case 'queue_remove':
        await this.api.ask('DELETE', `${at}/queue/${message.prompt_id}`)
        break
      case 'queue_clear':
        await this.api.ask('DELETE', `${at}/queue`)
        break
      default:
        return // who watches, and how far was read, is not told
    }
    this.ring(session_id)
  }

  private refused(message: ClientMessage, error: ApiError): void {
    if (error.status === 0) return this.end()
    if (!('session_id' in message)) return
    const request_id = 'request_id' in message ? message.request_id : undefined
    const { session_id } = message
    if (error.code === 'not_found' && message.type !== 'permission_answer') {
      return this.tell({ type: 'session_gone', request_id, session_id } as ServerMessage)
    }
    const { code, winner } = error
    this.tell({
      type: 'error',
      request_id,
      session_id,
      code,
      message: error.message,
      winner,
    } as ServerMessage)
  }

  private readonly bells = new Map<string, () => void>()

  /** Ends the pause of a session that is followed. */
  private ring(id: string): void {
    this.bells.get(id)?.()
  }

  private follow(id: string, from: Place, request_id?: string): void {
    this.follows.get(id)?.abort()
    const own = new AbortController()
    this.ended.signal.addEventListener('abort', () => own.abort(), { signal: own.signal })
    this.follows.set(id, own)
    void this.watch(id, from, own.signal, request_id).catch((error: ApiError) => {
      if (own.signal.aborted) return
      if (error.status === 0) return this.end()
      this.refused({ type: 'observe', request_id: request_id ?? '', session_id: id }, error)
    })
  }

  private async watch(id: string, from: Place, ended: AbortSignal, request_id?: string): Promise<void> {
    const { after_seq, epoch, tail = 100 } = from
    const cursor = after_seq === undefined ? { limit: tail, merge: true } : { after_seq, epoch, limit: page }
    let last = await this.load(id, cursor)
    if (ended.aborted) return
    if (last.verdict === 'ok' && after_seq !== undefined) {
      this.tell({ ...last, request_id, first_seq: after_seq + 1, last_seq: after_seq, events: [] })
      this.news(last)
    } else this.tell({ ...last, request_id, prepend: false })
    void this.listen(id, () => `${last.epoch}:${last.last_seq}`, ended)
    let state = ''
    for (let due = last.last_seq < last.max_seq; !ended.aborted; due = true) {
      const rang = new Promise<void>((resolve) => this.bells.set(id, resolve))
      if (due) {
        last = await this.load(id, { after_seq: last.last_seq, epoch: last.epoch, limit: page })
        if (ended.aborted) return
        if (last.verdict === 'reset') this.tell({ ...last, prepend: false })
        else this.news(last)
        if (last.last_seq < last.max_seq) continue
      }
      const now = await this.api.ask<ServerMessage>('GET', `/api/sessions/${encodeURIComponent(id)}/state`)
      if (ended.aborted) return
      const told = state
      state = JSON.stringify(now)
      if (state !== told) this.tell(now)
      await Promise.race([rang, pause(lookMs, ended)])
    }
  }

  private news(page: EventsLoadedMessage): void {
    const { session_id, epoch, first_seq, last_seq, max_seq, events } = page
    if (events.length > 0)
      this.tell({ type: 'events', session_id, epoch, first_seq, last_seq, max_seq, events })
  }

  /** Rings with each piece of the stream of a session's events. */
  private async listen(id: string, place: () => string, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      try {
        const headers = { Accept: 'text/event-stream', 'Last-Event-ID': place() }
        const { body } = await this.api.respond(`/api/sessions/${encodeURIComponent(id)}/events`, {
          headers,
          signal: ended,
        })
        const reader = body?.getReader()
        while (reader && !(await reader.read()).done) this.ring(id)
      } catch {
        // It is asked for again.
      }
      await pause(restMs, ended)
    }
  }

  private load(
    id: string,
    {
      before_seq,
      after_seq,
      epoch,
      limit,
      merge,
    }: Place & { before_seq?: number | undefined; limit?: number | undefined; merge?: boolean | undefined },
  ): Promise<EventsLoadedMessage> {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ before_seq, after_seq, epoch, limit, merge })) {
      if (value !== undefined) query.set(name, String(value))
    }
    return this.api
      .ask<EventsLoadedMessage>('GET', `/api/sessions/${encodeURIComponent(id)}/events?${query}`)
      .then((loaded) => ({ ...loaded, type: 'events_loaded' }))
  }

  /** Tells of the sessions that changed; the first time only remembers them. */
  private async list(): Promise<void> {
    const { sessions } = await this.api.ask<{ sessions: SessionInfo[] }>('GET', '/api/sessions?limit=100')
    const before = this.listed
    this.listed = new Map(sessions.map((session) => [session.session_id, JSON.stringify(session)]))
    for (const session of sessions) {
      const { session_id } = session
      if (before && before.get(session_id) !== this.listed.get(session_id))
        this.tell({ type: 'session', session })
    }
  }

  private tell(frame: ServerMessage): void {
    if (!this.ended.signal.aborted)
      this.onmessage?.(new MessageEvent('message', { data: JSON.stringify(frame) }))
  }

  private end(): void {
    if (this.ended.signal.aborted) return
    this.readyState = WebSocket.CLOSED
    this.ended.abort()
    this.onclose?.(new CloseEvent('close', { code: 1006 }))
  }
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer)
      ended.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, ms)
    ended.addEventListener('abort', over)
  })
}
