import { untrack } from 'svelte'
import { emptyFeed, type Feed } from '../../state/feed'
import type { Moment } from '../../state/moment'
import { turnAt } from '../../state/overview'
import { Pages } from '../../state/pages'
import { idleMs, Player, type Offset } from '../../state/player'
import type { AbideEvent, Overview, Seq } from '../../wire/gen'
import type { Screens } from '../app.svelte'

export const speeds = [0.5, 1, 2, 4, 8, 16] as const

/** The targets of a step. */
export type StepKind = 'event' | 'tool' | 'turn' | 'mark'

/** How long the timeline may be behind the log before it is asked for again. */
const staleMs = 5_000

/**
 * The player's controls: a person's requests, and the state on screen. Made while a component is.
 */
export class Deck {
  feed: Feed = $state.raw(emptyFeed(0))
  seq: Seq = $state(0)
  offset: Offset = $state.raw({ at: 0, played: 0 })
  overview: Overview | null = $state.raw(null)
  playing = $state(false)
  speed: number = $state(1)
  /** At the end it begins again. */
  loop = $state(false)
  /** At the newest event, and at each that comes. */
  live = $state(false)
  /** How long nothing happened here, in ms, where that is played shorter. */
  idle = $state(0)
  busy = $state(false)
  problem = $state('')
  moment: Moment | null = $state.raw(null)
  /** The newest seq there is. */
  readonly last: Seq = $derived.by(() => Math.max(this.newest(), this.overview?.at_seq ?? 0))
  /** Each place a person went to by themselves: the feed shows its end. */
  moved = $state(0)
  private player: Player | null = null
  private ended = new AbortController()
  private readonly closed = new AbortController()
  private frame = 0
  private then = 0
  private left = 0
  private loading = false
  private asked = 0

  constructor(
    private readonly app: Screens,
    private readonly id: string,
    from: Seq | null,
  ) {
    void this.load(from)
    $effect(() => {
      // At the live edge the feed is the app's own.
      const session = this.live ? app.session(id) : undefined
      if (session) untrack(() => this.show(session.feed, session.feed.last))
    })
    $effect(() => {
      if (this.overview === null || this.last <= this.overview.at_seq) return
      const timer = setTimeout(() => void this.refresh(), Math.max(0, this.asked + staleMs - Date.now()))
      return () => clearTimeout(timer)
    })
    $effect(() => () => {
      this.closed.abort()
      this.ended.abort()
      cancelAnimationFrame(this.frame)
    })
  }

  get first(): Seq {
    return this.overview?.min_seq ?? 1
  }

  get turn() {
    return this.overview ? turnAt(this.overview, this.seq) : undefined
  }

  /** Whether older events can be put before those on screen. */
  get hasOlder(): boolean {
    void this.feed
    return !this.live && this.player !== null && this.player.hasOlder
  }

  older = async (): Promise<void> => {
    const { player } = this
    if (!player || this.loading) return
    this.loading = true
    await player.older(this.closed.signal).catch(() => {})
    this.loading = false
    if (!this.live && player.seq === this.seq) this.feed = player.feed
  }

  toggle = () => {
    if (this.playing) return this.pause()
    if (this.seq >= this.last) {
      if (this.running()) return this.toLive()
      return void this.seek(this.first).then(() => this.play())
    }
    this.play()
  }

  play(): void {
    this.live = false
    this.playing = true
    this.then = performance.now()
    this.left = 0
    cancelAnimationFrame(this.frame)
    this.frame = requestAnimationFrame(this.tick)
  }

  pause(): void {
    this.playing = false
    this.idle = 0
    cancelAnimationFrame(this.frame)
  }

  faster(by: 1 | -1): void {
    const at = speeds.indexOf(this.speed as (typeof speeds)[number])
    this.speed = speeds[Math.max(0, Math.min(speeds.length - 1, at + by))]!
  }

  /** Goes to the newest event and stays there as more come. */
  toLive = () => {
    this.pause()
    this.ended.abort()
    this.live = true
    this.moved++
    const session = this.app.session(this.id)
    if (session) this.show(session.feed, session.feed.last)
  }

  seek = async (seq: Seq): Promise<void> => {
    this.live = false
    this.left = 0
    const to = Math.max(this.first, Math.min(seq, this.last))
    await this.doing(async (player, ended) => {
      await player.seek(to, ended)
      if (!ended.aborted) this.show(player.feed, player.seq, player.offset)
    })
    this.moved++
  }

  /** Goes to a time since the first event. */
  seekTime = async (kind: keyof Offset, ms: number): Promise<void> => {
    let to: Seq | undefined
    await this.doing(async (player, ended) => {
      to = await player.seqAt(kind, Math.max(0, ms), this.last, ended)
    })
    if (to !== undefined) await this.seek(to)
  }

  /** Five seconds of the film, forward or back. */
  skip = (ms: number) => this.seekTime('played', this.offset.played + ms)

  step = async (kind: StepKind, by: 1 | -1): Promise<void> => {
    this.pause()
    if (kind === 'event') return this.seek(this.seq + by)
    if (kind === 'tool') {
      let to: Seq | null = null
      await this.doing(async (player, ended) => {
        to = await player.find(this.seq, by, isCall, this.last, ended)
      })
      return to === null ? undefined : this.seek(to)
    }
    if (this.last > (this.overview?.at_seq ?? 0)) await this.refresh()
    const places = (kind === 'turn' ? this.overview?.turns : this.overview?.marks) ?? []
    const next = by > 0 ? places.find((p) => p.seq > this.seq) : places.findLast((p) => p.seq < this.seq)
    if (next) return this.seek(next.seq)
    return this.seek(by > 0 ? this.last : this.first)
  }

  /** Reads the state of the session at the place on screen. */
  look = async (): Promise<void> => {
    const { player, seq } = this
    if (!player) return
    const moment = await player.moment(seq, this.closed.signal).catch(() => null)
    if (this.seq === seq) this.moment = moment
  }

  private newest(): Seq {
    const session = this.app.session(this.id)
    return session?.epoch ? session.feed.last : 0
  }

  private running(): boolean {
    return (this.app.session(this.id)?.live?.turn.state ?? 'idle') !== 'idle'
  }

  private async load(from: Seq | null): Promise<void> {
    try {
      const overview = await this.app.hub.overview(this.id)
      if (this.closed.signal.aborted) return
      this.asked = Date.now()
      const ask = (after: Seq, limit: number, ended: AbortSignal) =>
        this.app.hub.events(this.id, after, limit, ended, false)
      this.player = new Player(new Pages(ask, overview.epoch, overview.min_seq), overview)
      this.overview = overview
      // Without a place: the last prompt, with what led to it; the only turn is shown to its end.
      const { turns, at_seq } = overview
      await this.seek(from ?? (turns.length > 1 ? turns.at(-1)!.seq : at_seq))
    } catch (error) {
      this.problem = (error as Error).message
    }
  }

  private async refresh(): Promise<void> {
    if (Date.now() - this.asked < staleMs || this.problem !== '') return
    this.asked = Date.now()
    const overview = await this.app.hub.overview(this.id).catch(() => null)
    if (!overview || !this.player || overview.epoch !== this.overview?.epoch) return
    this.overview = this.player.overview = overview
  }

  /** Does one thing at a time with the player: a later request takes its place. */
  private async doing(act: (player: Player, ended: AbortSignal) => Promise<unknown>): Promise<void> {
    const { player } = this
    if (!player) return
    this.ended.abort()
    const ended = (this.ended = new AbortController())
    this.busy = true
    try {
      await act(player, ended.signal)
      if (!ended.signal.aborted) this.problem = ''
    } catch (error) {
      if (!ended.signal.aborted) this.problem = (error as Error).message
    } finally {
      if (this.ended === ended) this.busy = false
    }
  }

  private show(feed: Feed, seq: Seq, offset?: Offset): void {
    this.feed = feed
    this.seq = seq
    if (offset) this.offset = offset
  }

  private tick = (now: number) => {
    if (!this.playing || !this.player) return
    this.frame = requestAnimationFrame(this.tick)
    const { player } = this
    this.left += Math.min(250, now - this.then) * this.speed
    this.then = now
    const gap = player.gap()
    this.idle = gap !== null && gap > idleMs ? gap : 0
    this.left = player.advance(this.left, this.last)
    if (player.seq !== this.seq) this.show(player.feed, player.seq, player.offset)
    if (player.seq >= this.last) {
      this.pause()
      if (this.running()) this.toLive()
      else if (this.loop) void this.seek(this.first).then(() => this.play())
    } else if (player.gap() === null) {
      this.left = 0
      if (!this.loading) void this.ahead(player)
    }
  }

  private async ahead(player: Player): Promise<void> {
    this.loading = true
    try {
      await player.ahead(this.last, this.closed.signal)
    } catch (error) {
      this.pause()
      if (!this.closed.signal.aborted) this.problem = (error as Error).message
    }
    this.loading = false
  }
}

function isCall(event: AbideEvent): boolean {
  return event.type === 'tool_call'
}
