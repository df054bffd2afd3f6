import type { LinkState } from '../state/link'
import { parseFrame } from '../wire/frames'
import type { ClientMessage, ServerMessage } from '../wire/gen'
import type { Line } from './overhttp'
import { start, step, type Effect, type Input, type Machine, type Refusal, type Timer } from './machine'

/** The parts of the app that the connection uses. */
export interface Side {
  /** Where to dial: read at each dial, so that the cursor in it is the newest. */
  url(): string
  /** The subprotocols to offer at a dial. */
  protocols(): string[]
  /** The socket `gen` is the connection from now on; `target` is the session it was dialled to. */
  adopted(target: string): void
  frame(frame: ServerMessage): void
  unknown(): void
  /** The hub closed the connection over a frame that was too large for it. */
  tooLarge(): void
  link(link: LinkState): void
  /**
   * Asks over HTTP for the cause of a failed dial; 'barred' if the hub answers, but no WebSocket comes through.
   * That may be tried where `tries` says so.
   */
  health(tries: () => boolean): Promise<Refusal | 'barred' | null>
  /** A connection by requests, for a way that lets no WebSocket through. */
  overHTTP(target: string): Promise<Line>
}

/** The longest time between two ticks of the clock watch; after a longer one the page has slept, or the clock was set. */
const jumpMs = 2_000
const tickMs = 1_000
/** The close code of a frame that was too large. */
const tooLargeCode = 1009

/** Drives the machine: sockets, timers and the hints of the page about sleep. */
export class Connection {
  private machine: Machine = start
  private readonly sockets = new Map<number, { socket: Line; target: string }>()
  private readonly timers = new Map<Timer, ReturnType<typeof setTimeout>>()
  /** The hub answers, but no WebSocket comes through to it. */
  private barred = false
  /** The generation of the connection by requests. */
  private http = 0
  private readonly stops: (() => void)[] = []
  private link: LinkState = { phase: 'off', since: 0 }

  constructor(private readonly side: Side) {}

  /** Begins, and keeps a connection until stop. */
  start(): void {
    if (this.stops.length === 0) this.watch()
    // A page opened in the background dials once, and again when it becomes visible.
    if (document.visibilityState === 'hidden') this.input({ type: 'hidden' })
    this.input({ type: 'start', online: navigator.onLine })
  }

  stop(): void {
    for (const stop of this.stops.splice(0)) stop()
    this.input({ type: 'stop' })
  }

  /** Sends on the connection; false when there is none. */
  send(message: ClientMessage): boolean {
    const { main } = this.machine
    const socket = main?.phase === 'open' ? this.sockets.get(main.gen)?.socket : undefined
    if (socket?.readyState !== WebSocket.OPEN) return false
    socket.send(JSON.stringify(message))
    if (message.type === 'prompt' || message.type === 'permission_answer') this.input({ type: 'sent' })
    return true
  }

  /** How many sockets exist; never more than two. */
  get socketCount(): number {
    return this.sockets.size
  }

  wake = (jumped = false): void => this.input({ type: 'wake', jumped, online: navigator.onLine })

  private input(input: Input): void {
    const before = this.machine.main
    const [machine, effects] = step(this.machine, input, { now: Date.now(), random: Math.random })
    this.machine = machine
    for (const effect of effects) this.perform(effect)
    const { main } = machine
    if (main?.phase === 'open' && (before?.gen !== main.gen || before.phase !== 'open')) {
      this.side.adopted(this.sockets.get(main.gen)?.target ?? '')
    }
    this.report()
  }

  private perform(effect: Effect): void {
    switch (effect.do) {
      case 'dial':
        return this.dial(effect.gen)
      case 'drop':
        return this.drop(effect.gen)
      case 'ping':
        this.sockets.get(effect.gen)?.socket.send(JSON.stringify({ type: 'ping', nonce: effect.nonce }))
        return
      case 'ask_health':
        void this.side.health(this.tries).then((answer) => {
          if (answer !== 'barred') return this.input({ type: 'health', refusal: answer })
          this.barred = true
          this.wake(true)
        })
        return
      case 'timer':
        clearTimeout(this.timers.get(effect.timer))
        this.timers.delete(effect.timer)
        if (effect.ms !== null) {
          const { timer, ms } = effect
          this.timers.set(
            timer,
            setTimeout(() => this.input({ type: 'timer', timer }), ms),
          )
        }
    }
  }

  /** Makes room for a socket beside the one that is dialled; false where there is a connection. */
  private readonly tries = (): boolean => {
    const { main, spare } = this.machine
    if (main?.phase === 'open') return false
    if (spare) this.drop(spare.gen)
    return true
  }

  private dial(gen: number): void {
    const target = this.side.url()
    // The spare is a WebSocket, which takes the place of requests once it comes through.
    if (this.barred && gen === this.machine.main?.gen) {
      const came = (line: Line) => {
        if (gen !== this.machine.main?.gen) return line.close()
        this.http = gen
        this.take(gen, target, line)
      }
      const failed = () => {
        this.barred = false
        this.input({ type: 'closed', gen, code: 0 })
      }
      void this.side.overHTTP(target).then(came, failed)
    } else this.take(gen, target, new WebSocket(target, this.side.protocols()))
  }

  private take(gen: number, target: string, socket: Line): void {
    this.sockets.set(gen, { socket, target })
    socket.onmessage = (message) => this.received(gen, message.data)
    socket.onclose = (close) => {
      this.drop(gen)
      if (gen === this.http) this.barred = false
      if (close.code === tooLargeCode && gen === this.machine.main?.gen) this.side.tooLarge()
      this.input({ type: 'closed', gen, code: close.code })
    }
  }

  private drop(gen: number): void {
    const entry = this.sockets.get(gen)
    if (!entry) return
    this.sockets.delete(gen)
    // Late events of a dropped socket must be ignored.
    entry.socket.onmessage = entry.socket.onclose = null
    entry.socket.close()
  }

  private received(gen: number, data: unknown): void {
    const frame = typeof data === 'string' ? parseFrame(data) : null
    if (frame === null) return this.side.unknown()
    switch (frame.type) {
      case 'connected':
        this.input({ type: 'connected', gen, heartbeatMs: frame.heartbeat_ms, protocol: frame.protocol })
        break
      case 'pong':
        this.input({ type: 'pong', gen, nonce: frame.nonce })
        break
      case 'goodbye':
        this.side.frame(frame)
        return this.input({ type: 'goodbye', gen, retryAfterMs: frame.retry_after_ms })
      default:
        this.input({ type: 'frame', gen })
    }
    // Only the connection's own messages count; a spare has said nothing yet.
    if (gen === this.machine.main?.gen) this.side.frame(frame)
  }

  private watch(): void {
    const on = (target: EventTarget, name: string, run: () => void) => {
      target.addEventListener(name, run)
      this.stops.push(() => target.removeEventListener(name, run))
    }
    const seen = () => {
      if (document.visibilityState === 'visible') this.wake()
      else this.input({ type: 'hidden' })
    }
    on(document, 'visibilitychange', seen)
    on(document, 'resume', seen)
    on(window, 'pageshow', seen)
    on(window, 'focus', seen)
    on(window, 'online', () => this.wake(true))
    on(window, 'offline', () => this.input({ type: 'offline' }))

    let ticked = Date.now()
    let ticks = 0
    const tick = setInterval(() => {
      // Now and then a WebSocket is tried.
      if (this.link.http && ++ticks % 60 === 0) this.wake(true)
      const passed = Date.now() - ticked
      ticked = Date.now()
      // The browser slows the timers of a hidden page, which does not count as a sleep.
      if (Math.abs(passed) > jumpMs && document.visibilityState === 'visible') this.wake(true)
    }, tickMs)
    this.stops.push(() => clearInterval(tick))
  }

  private report(): void {
    const { main, probe, refusal, retryAt, online, wanted } = this.machine
    const phase: LinkState['phase'] = !wanted
      ? 'off'
      : refusal
        ? 'refused'
        : main?.phase === 'open'
          ? probe
            ? probe.late && !online
              ? 'offline'
              : 'checking'
            : 'open'
          : !online
            ? 'offline'
            : main
              ? 'dialling'
              : 'waiting'
    const http = main?.phase === 'open' && main.gen === this.http
    if (
      phase === this.link.phase &&
      (retryAt ?? undefined) === this.link.retryAt &&
      http === !!this.link.http
    )
      return
    const since = phase === this.link.phase ? this.link.since : Date.now()
    this.link = { phase, since, retryAt: retryAt ?? undefined, refusal: refusal ?? undefined, http }
    this.side.link(this.link)
  }
}
