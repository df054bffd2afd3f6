/** One socket. Its generation tells its events from those of sockets dropped before it. */
export interface Link {
  readonly gen: number
  /** open from its `connected` frame on, which is proof that it lives. */
  readonly phase: 'dialling' | 'open'
  readonly dialledAt: number
}

/**
 * The connection as a value. the app talks through `main`; `spare` exists only while main is under
 * suspicion, and takes its place by proving first that it lives. There are never more than these
 * two sockets.
 */
export interface Machine {
  readonly wanted: boolean
  readonly hiddenSince: number | null
  readonly online: boolean
  readonly main: Link | null
  readonly spare: Link | null
  /** A ping on main without its pong yet; only this nonce proves life. */
  readonly probe: { readonly nonce: string; readonly at: number; readonly late: boolean } | null
  /** Something went out that wants an answer, is looked after, and nothing was heard since. */
  readonly unanswered: boolean
  readonly lastFrameAt: number
  readonly heartbeatMs: number
  /** Dials that failed in a row. */
  readonly failures: number
  /** Connections in a row that closed soon after they opened, since the last wake. */
  readonly brief: number
  /** When the next dial is due; null when none is. */
  readonly retryAt: number | null
  readonly refusal: Refusal | null
  readonly gens: number
}

export type Refusal = 'unauthorized' | 'forbidden' | 'version'

export type Input =
  /** `online`: whether the device says that it has a network. */
  | { type: 'start'; online?: boolean }
  | { type: 'stop' }
  /** Something hints that the page may have slept. `jumped`: the clock says it did. */
  | { type: 'wake'; jumped?: boolean; online?: boolean }
  | { type: 'hidden' }
  | { type: 'offline' }
  /** Something went out on main that wants an answer soon. */
  | { type: 'sent' }
  | { type: 'connected'; gen: number; heartbeatMs: number; protocol: number }
  | { type: 'pong'; gen: number; nonce: string }
  | { type: 'frame'; gen: number }
  | { type: 'goodbye'; gen: number; retryAfterMs: number }
  | { type: 'closed'; gen: number; code: number }
  | { type: 'health'; refusal: Refusal | null }
  | { type: 'timer'; timer: Timer }

/** The driver's actions for the machine, in order. */
export type Effect =
  | { do: 'dial'; gen: number }
  | { do: 'drop'; gen: number }
  | { do: 'ping'; gen: number; nonce: string }
  | { do: 'ask_health' }
  | { do: 'timer'; timer: Timer; ms: number | null }

/**
 * slow, dial: no `connected` came; probe, dead: no pong came; retry: dial again;
 * answer: nothing came since something was sent; silence: nothing came.
 */
export type Timer = 'slow' | 'dial' | 'probe' | 'dead' | 'retry' | 'answer' | 'silence'

export interface Moment {
  now: number
  random: () => number
}

export const limits = {
  /** Hidden for longer, a page may have been frozen: its socket is doubted. */
  hiddenMs: 5_000,
  dialMs: 10_000,
  /** A dial that takes longer may hang where a new one would not: it brings a spare. */
  slowMs: 3_000,
  /** A pong later than this brings a spare. */
  probeMs: 1_500,
  /** A pong later than this ends main even without a spare. */
  deadMs: 10_000,
  /**
   * A connection that closes sooner may have done so because of a message: the next waits longer.
   */
  settledMs: 5_000,
  backoffMinMs: 250,
  /** The longest wait after a failed dial, so that a connection stands within 2 s of the hub's return. */
  redialMaxMs: 1_500,
  /** The longest wait after connections that the hub took and that closed soon: each cost it a replay. */
  backoffMaxMs: 10_000,
  protocol: 1,
} as const

export const start: Machine = {
  wanted: false,
  hiddenSince: null,
  online: true,
  main: null,
  spare: null,
  probe: null,
  unanswered: false,
  lastFrameAt: 0,
  heartbeatMs: 10_000,
  failures: 0,
  brief: 0,
  retryAt: null,
  refusal: null,
  gens: 0,
}

/** The close code of a sign-in that ended. Dialling again helps only if another tab has paired this browser again. */
const revoked = 4001
/** The close code of a lasting refusal: dialling again would not help. */
const forbidden = 4003

/** Returns the machine after one input, and the actions to do. */
export function step(from: Machine, input: Input, at: Moment): [Machine, Effect[]] {
  const run = new Step(from, at)
  run.take(input)
  return [run.m, run.effects]
}

class Step {
  m: Machine
  readonly effects: Effect[] = []

  constructor(
    from: Machine,
    private readonly at: Moment,
  ) {
    this.m = from
  }

  take(input: Input): void {
    switch (input.type) {
      case 'start':
        this.set({ wanted: true, refusal: null, failures: 0, brief: 0, online: input.online ?? true })
        if (this.m.main === null) this.dial('main')
        return
      case 'stop':
        this.set({ wanted: false })
        return this.dropAll()
      case 'wake':
        return this.wake(input.jumped ?? false, input.online ?? true)
      case 'hidden':
        return this.set({ hiddenSince: this.m.hiddenSince ?? this.at.now })
      case 'offline':
        // A hub on this device, or one nearer than the network that went, goes on: only a pong tells.
        this.set({ online: false })
        return this.ask()
      case 'sent':
        return this.sent()
      case 'connected':
        return this.connected(input.gen, input.heartbeatMs, input.protocol)
      case 'pong':
        return this.pong(input.gen, input.nonce)
      case 'frame':
        return this.heard(input.gen)
      case 'goodbye':
        return this.goodbye(input.gen, input.retryAfterMs)
      case 'closed':
        return this.closed(input.gen, input.code)
      case 'health':
        if (input.refusal === null) return this.allowed()
        if (this.m.main?.phase !== 'open') this.refuse(input.refusal)
        return
      case 'timer':
        return this.timer(input.timer)
    }
  }

  private wake(jumped: boolean, online: boolean): void {
    const { hiddenSince, main } = this.m
    const slept = jumped || (hiddenSince !== null && this.since(hiddenSince) > limits.hiddenMs)
    this.set({ hiddenSince: null, online, brief: 0 })
    // Another tab may have paired this browser again meanwhile.
    if (this.m.wanted && this.m.refusal === 'unauthorized') this.effects.push({ do: 'ask_health' })
    if (!this.m.wanted || this.m.refusal !== null) return
    if (main === null) {
      this.set({ failures: 0 })
      return this.dial('main')
    }
    if (main.phase === 'open') {
      this.ask()
      if (slept) this.dialSpare()
    } else if (slept) {
      // A connection attempt from before a sleep may hang for minutes: restart it.
      this.drop(main)
      this.set({ main: null })
      this.dial('main')
    } else if (this.since(main.dialledAt) > limits.probeMs) this.dialSpare()
  }

  private sent(): void {
    const { main, unanswered } = this.m
    if (main?.phase !== 'open' || unanswered) return
    // A new connection repeats waiting requests while it is still busy with the replay. If it were
    // doubted for that, one after the other would be given up on a slow link.
    if (this.since(main.dialledAt) < limits.settledMs) return
    this.set({ unanswered: true })
    this.clock('answer', limits.probeMs)
  }

  private connected(gen: number, heartbeatMs: number, protocol: number): void {
    const { main, spare } = this.m
    if (gen !== main?.gen && gen !== spare?.gen) return
    if (protocol > limits.protocol) return this.refuse('version')
    const link: Link = { gen, phase: 'open', dialledAt: this.at.now }
    const other = gen === spare?.gen ? main : spare
    if (other) this.drop(other)
    this.set({
      main: link,
      spare: null,
      probe: null,
      unanswered: false,
      failures: 0,
      heartbeatMs,
      online: true,
    })
    this.set({ lastFrameAt: this.at.now, retryAt: null })
    for (const timer of ['slow', 'dial', 'probe', 'dead', 'retry', 'answer'] as const) this.clock(timer, null)
    this.clock('silence', this.patience())
  }

  private pong(gen: number, nonce: string): void {
    this.heard(gen)
    if (gen !== this.m.main?.gen || nonce !== this.m.probe?.nonce) return
    this.set({ probe: null })
    this.clock('probe', null)
    this.clock('dead', null)
    if (this.m.spare) this.drop(this.m.spare)
    this.set({ spare: null })
  }

  private heard(gen: number): void {
    // No proof of life: bytes buffered before the link died arrive late too.
    if (gen === this.m.main?.gen) this.set({ lastFrameAt: this.at.now, unanswered: false })
  }

  private goodbye(gen: number, retryAfterMs: number): void {
    if (gen !== this.m.main?.gen) return
    this.drop(this.m.main)
    this.set({ main: null, probe: null })
    if (this.m.spare) return this.promote()
    this.retryIn(retryAfterMs + this.at.random() * 250)
  }

  private closed(gen: number, code: number): void {
    const { main, spare } = this.m
    if (gen === spare?.gen) {
      this.set({ spare: null })
      return
    }
    if (main === null || gen !== main.gen) return
    this.set({ main: null, probe: null, unanswered: false })
    for (const timer of ['slow', 'dial', 'probe', 'dead', 'answer', 'silence'] as const)
      this.clock(timer, null)
    if (code === forbidden) return this.refuse('forbidden')
    if (spare) return this.promote()
    if (main.phase === 'open' && code !== revoked) return this.reopen(this.since(main.dialledAt))
    this.failed()
  }

  private timer(timer: Timer): void {
    const { main } = this.m
    switch (timer) {
      case 'slow':
        if (main?.phase !== 'dialling') return
        this.effects.push({ do: 'ask_health' }) // it may be that no WebSocket comes through
        return this.dialSpare()
      case 'dial':
        if (main?.phase !== 'dialling') return
        this.drop(main)
        if (this.m.spare) this.drop(this.m.spare)
        this.set({ main: null, spare: null })
        return this.failed()
      case 'probe':
        if (!this.m.probe) return
        this.set({ probe: { ...this.m.probe, late: true } })
        return this.dialSpare()
      case 'answer': {
        const { unanswered } = this.m
        this.set({ unanswered: false })
        if (unanswered) this.ask()
        return
      }
      case 'dead':
        if (!this.m.probe || !main) return
        this.drop(main)
        this.set({ main: null, probe: null })
        return this.m.spare ? this.promote() : this.failed()
      case 'retry':
        this.set({ retryAt: null })
        if (this.m.hiddenSince === null) this.dial('main') // while hidden, the wake will
        return
      case 'silence': {
        if (main?.phase !== 'open') return
        const quiet = this.since(this.m.lastFrameAt)
        if (quiet < this.patience()) return this.clock('silence', this.patience() - quiet)
        this.ask()
        return this.clock('silence', this.patience())
      }
    }
  }

  private ask(): void {
    if (this.m.main?.phase !== 'open') return
    // One nonce at a time: a later trigger must not void a pong on its way.
    if (this.m.probe && this.since(this.m.probe.at) < limits.probeMs) return
    const nonce = `${this.m.main.gen}.${Math.floor(this.at.random() * 1e12).toString(36)}`
    this.set({ probe: { nonce, at: this.at.now, late: false } })
    this.effects.push({ do: 'ping', gen: this.m.main.gen, nonce })
    this.clock('probe', limits.probeMs)
    this.clock('dead', limits.deadMs)
  }

  private dial(as: 'main' | 'spare'): void {
    if (!this.m.wanted || this.m.refusal !== null || this.m[as] !== null) return
    const link: Link = { gen: this.m.gens + 1, phase: 'dialling', dialledAt: this.at.now }
    this.set({ gens: link.gen, [as]: link })
    this.effects.push({ do: 'dial', gen: link.gen })
    if (as === 'main') {
      this.set({ retryAt: null })
      this.clock('retry', null)
      this.clock('slow', limits.slowMs)
      this.clock('dial', limits.dialMs)
    }
  }

  private dialSpare(): void {
    const { spare } = this.m
    if (spare && this.since(spare.dialledAt) > limits.dialMs) {
      this.drop(spare)
      this.set({ spare: null })
    }
    this.dial('spare')
  }

  private promote(): void {
    const { spare } = this.m
    this.set({ main: spare, spare: null, probe: null })
    this.clock('dial', limits.dialMs)
  }

  private failed(): void {
    this.effects.push({ do: 'ask_health' }) // the browser hides why a dial failed
    this.set({ failures: this.m.failures + 1 })
    this.retryIn(this.wait(this.m.failures, limits.redialMaxMs))
  }

  /** Dials after a connection that closed: at once after a long one, ever later after ever more short ones. */
  private reopen(lastedMs: number): void {
    const before = lastedMs < limits.settledMs ? this.m.brief : 0
    this.set({ brief: before + 1 })
    this.retryIn(
      before === 0 ? this.at.random() * limits.backoffMinMs : this.wait(before + 1, limits.backoffMaxMs),
    )
  }

  /** How long to wait after so many failures in a row, with full jitter: many pages never dial together. */
  private wait(failures: number, longestMs: number): number {
    const most = Math.min(longestMs, limits.backoffMinMs * 2 ** failures)
    return limits.backoffMinMs + this.at.random() * (most - limits.backoffMinMs)
  }

  private retryIn(ms: number): void {
    if (!this.m.wanted) return
    this.set({ retryAt: this.at.now + ms })
    this.clock('retry', ms)
  }

  /** Clears the refusal: the hub accepts this browser again. */
  private allowed(): void {
    if (this.m.refusal !== 'unauthorized') return
    this.set({ refusal: null, failures: 0 })
    this.dial('main')
  }

  private refuse(refusal: Refusal): void {
    this.dropAll()
    this.set({ refusal })
  }

  private dropAll(): void {
    if (this.m.main) this.drop(this.m.main)
    if (this.m.spare) this.drop(this.m.spare)
    this.set({ main: null, spare: null, probe: null, unanswered: false, retryAt: null })
    for (const timer of ['slow', 'dial', 'probe', 'dead', 'retry', 'answer', 'silence'] as const)
      this.clock(timer, null)
  }

  private drop(link: Link): void {
    this.effects.push({ do: 'drop', gen: link.gen })
  }

  /** How long ago that was: endless if the clock was set back since, so that the pill is shown. */
  private since(moment: number): number {
    return moment <= this.at.now ? this.at.now - moment : Infinity
  }

  /** The longest silence of a healthy hub, and some. */
  private patience(): number {
    return this.m.heartbeatMs * 1.5 + 1_000
  }

  private clock(timer: Timer, ms: number | null): void {
    this.effects.push({ do: 'timer', timer, ms })
  }

  private set(change: Partial<Machine>): void {
    this.m = { ...this.m, ...change }
  }
}
