import type { Starts } from './starts'
import type { OutboxFile } from '../state/outboxitem'
import type { AnswerMore, Intents } from '../state/intents'
import type { Start } from '../state/starts'
import { frameBytes, tooLong } from '../state/size'
import type { Store } from '../state/store'
import { subprotocol } from '../wire/frames'
import type { ClientMessage, NewJob, NewSession, Offer, Resume, ServerMessage } from '../wire/gen'
import type { HubAPI } from './api'
import { Attention } from './attention'
import type { EventCache } from './cache'
import { Connection } from './connection'
import { Follower } from './follower'
import type { Refusal } from './machine'
import { Outbox, type OutboxStorage } from './outbox'
import type { PageKey } from './page'
import { Requests } from './requests'

type Unasked<M> = M extends { request_id?: string; session_id: string } ? Omit<M, 'request_id'> : never
/** A request about a session, before it has the id by which it is answered. */
type Verb = Unasked<ClientMessage>

/** Joins the connection and the state: frames in by dispatch, a person's requests out. */
export class Hub implements Intents {
  readonly connection: Connection
  readonly attention: Attention
  readonly outbox: Outbox
  private readonly requests = new Requests()
  private readonly follower: Follower
  private onScreen: string | null = null
  /** The hub's words for why it lets this browser in no more. */
  private why = ''
  /** Tells a person's other tabs that this browser is paired: one that was signed out goes on. */
  private readonly paired = new BroadcastChannel('abide-paired')
  /** Loaded with the first that waits. */
  private starting: Promise<Starts> | undefined

  constructor(
    private readonly store: Store,
    private readonly api: HubAPI,
    private readonly page: PageKey,
    storage: OutboxStorage,
    cache: EventCache | null,
    /** Drops this browser's cache of sessions. */
    private readonly wipe: () => void,
    private readonly device: Storage,
  ) {
    ;({
      files: this.files,
      event: this.event,
      blob: this.blob,
      blobAddress: this.blobAddress,
      answers: this.answers,
      events: this.events,
      overview: this.overview,
      review: this.review,
      search: this.search,
      rules: this.rules,
      devices: this.devices,
      ask: this.ask,
      attach: this.attach,
    } = api)
    this.connection = new Connection({
      url: () => this.follower.url(this.origin),
      protocols: this.protocols,
      overHTTP: async (target) => new (await import('./overhttp')).OverHTTP(target, api),
      adopted: (target) => this.adopted(target),
      frame: (frame) => this.frame(frame),
      unknown: () => store.dispatch({ kind: 'unknown_frame' }),
      tooLarge: () => this.outbox.tooLarge(),
      link: (link) =>
        store.dispatch({ kind: 'link', link: link.refusal ? { ...link, why: this.why } : link }),
      health: (tries) => this.health(tries),
    })
    this.follower = new Follower(store, this.requests, this.send, cache)
    this.outbox = new Outbox(storage, this.requests, store.dispatch, this.send, api.attach)
    this.outbox.join(new BroadcastChannel('abide-outbox'))
    this.paired.onmessage = () => this.connection.start()
    this.attention = new Attention(
      store,
      () => this.followed,
      this.send,
      () => document.visibilityState === 'visible' && this.shown !== null,
    )
  }

  /** The session on screen; null when there is none. */
  get followed(): string | null {
    return this.follower.current()?.id ?? null
  }

  /**
   * The session on screen, once its events are. Its data may be here long before the part of the
   * app that shows it.
   */
  get shown(): string | null {
    return this.onScreen === this.followed ? this.onScreen : null
  }

  follow(sessionId: string | null): void {
    this.follower.follow(sessionId)
  }

  show(sessionId: string | null): void {
    this.onScreen = sessionId
    this.attention.soon()
  }

  older(sessionId: string, limit?: number): void {
    this.follower.older(sessionId, limit)
  }

  newer(sessionId: string): void {
    this.follower.newer(sessionId)
  }

  seek(sessionId: string, seq: number): void {
    this.store.dispatch({ kind: 'seek', sessionId, seq })
    this.follower.ask()
  }

  live(sessionId: string): void {
    this.store.dispatch({ kind: 'live', sessionId })
  }

  prompt(
    sessionId: string,
    text: string,
    files: readonly OutboxFile[] = [],
    scheduledAt?: string,
    promptId: string = crypto.randomUUID(),
    stops = false,
  ): Promise<void> {
    this.attention.viewing(sessionId)
    const item = {
      id: promptId,
      sessionId,
      kind: 'prompt' as const,
      text,
      ...(files.length > 0 && { files }),
      ...(scheduledAt && { scheduledAt }),
    }
    return this.outbox.add(item, stops)
  }

  answer(sessionId: string, permissionId: string, optionId: string, more: AnswerMore = {}): void {
    void this.outbox.add({ id: permissionId, sessionId, kind: 'answer', text: '', optionId, ...more })
  }

  retry(id: string): void {
    this.outbox.retry(id)
  }

  drop(id: string): void {
    this.outbox.drop(id)
  }

  cancel(session_id: string): void {
    this.verb({ type: 'cancel', session_id })
  }

  forceReset(session_id: string): void {
    this.verb({ type: 'force_reset', session_id })
  }

  restartAgent(session_id: string): void {
    this.verb({ type: 'restart_agent', session_id })
  }

  authenticate(session_id: string, method_id: string): void {
    this.verb({ type: 'authenticate', session_id, method_id })
  }

  queueEdit(session_id: string, prompt_id: string, text: string): void {
    this.verb({ type: 'queue_edit', session_id, prompt_id, text })
  }

  queueMove(session_id: string, prompt_id: string, position: number): void {
    this.verb({ type: 'queue_move', session_id, prompt_id, position })
  }

  queueRemove(session_id: string, prompt_id: string): void {
    this.verb({ type: 'queue_remove', session_id, prompt_id })
  }

  queueClear(session_id: string): void {
    this.verb({ type: 'queue_clear', session_id })
  }

  setMode(session_id: string, mode_id: string): void {
    this.verb({ type: 'set_mode', session_id, mode_id })
  }

  setConfigOption(session_id: string, config_id: string, value: unknown): void {
    this.verb({ type: 'set_config_option', session_id, config_id, value })
  }

  typing(sessionId: string): void {
    this.attention.typing(sessionId)
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
      this.store.dispatch({ kind: 'listed', sessions: await this.api.sessions() })
    } catch (error) {
      this.store.dispatch({ kind: 'list_failed', text: (error as Error).message })
    }
  }

  readonly files: HubAPI['files']
  readonly event: HubAPI['event']
  readonly blob: HubAPI['blob']
  readonly blobAddress: HubAPI['blobAddress']
  readonly answers: HubAPI['answers']
  readonly events: HubAPI['events']
  readonly overview: HubAPI['overview']
  readonly review: HubAPI['review']
  readonly search: HubAPI['search']
  readonly rules: HubAPI['rules']
  readonly devices: HubAPI['devices']
  readonly ask: HubAPI['ask']
  readonly attach: HubAPI['attach']

  async later(request: NewSession | NewJob, key: string, form?: Start['form']): Promise<boolean> {
    return (await this.starts()).add(request, key, form)
  }

  startNow(key: string): void {
    void this.starts().then((starts) => starts.retry(key))
  }

  dropStart(key: string): void {
    void this.starts().then((starts) => starts.drop(key))
  }

  async choices() {
    // Made before the connection may be lost: requests of that time must be kept.
    const starts = this.starts()
    const choices = await this.api.choices()
    void starts.then((starts) => starts.keepChoices(choices))
    return choices
  }

  async lastChoices() {
    return (await this.starts()).keptChoices()
  }

  /** Takes up the sessions that wait to be made, if there are any. */
  async takeUp(): Promise<void> {
    if (this.device.getItem('abide.starts') !== null) await (await this.starts()).flush()
  }

  private starts(): Promise<Starts> {
    return (this.starting ??= import('./starts').then(
      ({ Starts }) => new Starts(this.device, (request, key) => this.make(request, key), this.store.dispatch),
    ))
  }

  private make(request: NewSession | NewJob, key: string): Promise<unknown> {
    if (!('task' in request)) return this.create(request, key)
    return this.ask('POST', '/api/jobs', request, undefined, { 'Idempotency-Key': key })
  }

  async create(request: NewSession, key: string) {
    const session = await this.api.create(request, key)
    this.store.dispatch({ kind: 'list_changed', session })
    return session
  }

  async update(
    sessionId: string,
    change: { name?: string; pinned?: boolean; archived?: boolean; tags?: string[] },
  ): Promise<void> {
    this.store.dispatch({ kind: 'list_changed', session: await this.api.update(sessionId, change) })
  }

  async remove(sessionId: string): Promise<void> {
    await this.api.remove(sessionId)
    this.outbox.forget(sessionId)
    this.follower.frame({ type: 'session_gone', session_id: sessionId })
  }

  async end(sessionId: string, dropQueue: boolean): Promise<void> {
    this.store.dispatch({ kind: 'list_changed', session: await this.api.end(sessionId, dropQueue) })
  }

  interruption(sessionId: string): Promise<Offer> {
    return this.api.interruption(sessionId)
  }

  resume(sessionId: string, how: Resume): Promise<void> {
    return this.api.resume(sessionId, how)
  }

  dismiss(sessionId: string, interruptionId: string): Promise<void> {
    return this.api.dismiss(sessionId, interruptionId)
  }

  async reopen(sessionId: string): Promise<void> {
    this.store.dispatch({ kind: 'list_changed', session: await this.api.reopen(sessionId) })
    this.follower.again(sessionId)
  }

  async pair(code: string): Promise<void> {
    const { deviceName } = await import('./devicename')
    await this.api.pair(code, deviceName(navigator.userAgent))
    this.connection.start()
    this.paired.postMessage(null)
  }

  private readonly origin = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}`

  private readonly protocols = () =>
    this.page.token === '' ? [subprotocol] : [subprotocol, `abide.page.${this.page.token}`]

  private readonly send = (message: ClientMessage): boolean => this.connection.send(message)

  private verb(verb: Verb): void {
    const sessionId = verb.session_id
    const requestId = this.requests.add({ kind: 'verb', sessionId })
    const frame = { ...verb, request_id: requestId }
    const max = this.store.state.hub?.limits.max_frame ?? Infinity
    const bytes = frameBytes(frame)
    if (bytes > max) {
      this.requests.settle(requestId)
      this.store.dispatch({ kind: 'problem', sessionId, text: tooLong(bytes, max) })
      return
    }
    if (this.send(frame)) return
    this.requests.settle(requestId)
    this.store.dispatch({ kind: 'problem', sessionId, text: t`Not connected: try again in a moment.` })
  }

  private adopted(target: string): void {
    this.requests.clear()
    this.follower.adopted(target)
    this.attention.renew()
    void this.refresh()
    void this.takeUp()
    if (this.page.ageing) void this.api.renew().catch(() => {})
  }

  private frame(frame: ServerMessage): void {
    const purpose = 'request_id' in frame ? this.requests.settle(frame.request_id) : undefined
    this.follower.frame(frame, purpose)
    if (frame.type === 'connected') this.outbox.resend(frame.limits.max_frame)
    if (purpose?.kind === 'outbox') this.outbox.answered(purpose.id, frame)
    else if (frame.type === 'error' && purpose?.kind === 'observe' && frame.code === 'unavailable') {
      this.follower.shut(purpose.sessionId, frame.message, frame.retry_after_ms)
      return
    } else if (
      frame.type === 'error' &&
      !frame.request_id &&
      frame.session_id &&
      frame.code === 'unavailable'
    ) {
      // The events were sent, but the state cannot become known.
      this.follower.shut(frame.session_id, frame.message, frame.retry_after_ms)
      return
    } else if (frame.type === 'error' && purpose?.kind === 'observe' && frame.code === 'conflict') {
      return // this screen itself asked for another place meanwhile
    } else if (frame.type === 'error') {
      this.store.dispatch({ kind: 'problem', sessionId: purpose?.sessionId, text: frame.message })
      if (purpose?.kind === 'window') {
        this.store.dispatch({ kind: 'seek', sessionId: purpose.sessionId, seq: null })
      }
      return // a refused request is not repeated at once
    }
    this.follower.ask()
  }

  private async health(tries: () => boolean): Promise<Refusal | 'barred' | null> {
    const session = this.follower.current()
    const { token } = this.page
    const answer = await this.api.refusal()
    const refused = answer === 'well' ? null : answer
    if (this.page.token !== token) {
      // The credential that the dial lacked is here now, and what was refused is the one before.
      this.connection.wake(true)
      if (refused?.refusal === 'unauthorized') return null
    }
    this.why = refused?.why ?? ''
    if (refused?.refusal === 'unauthorized') this.wipe()
    if (answer !== 'well') return refused?.refusal ?? null
    const { why } = await import('./overhttp')
    const found = await why(this.api, session?.id, `${this.origin}/api/ws`, this.protocols(), tries)
    if (found === 'barred') return found
    if (found === null || session === null) return null
    if (found === 'gone') this.follower.frame({ type: 'session_gone', session_id: session.id })
    else this.store.dispatch({ kind: 'shut', sessionId: session.id, reason: found.shut })
    this.connection.wake(true)
    return null
  }
}
