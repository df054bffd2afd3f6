import type { AbideEvent, Seq } from '../wire/gen'

export type MarkKind = 'prompt' | 'edit' | 'command' | 'question' | 'error' | 'interruption'

/** A place on the timeline that is worth going to. */
export interface Mark {
  readonly seq: Seq
  readonly kind: MarkKind
  readonly turn?: number
  readonly label?: string
}

/** The outcome of one turn; `end_seq` is absent while it is open. */
export interface TurnLine {
  readonly turn: number
  readonly seq: Seq
  readonly end_seq?: Seq
  readonly at: string
  readonly ms?: number
  readonly prompt?: string
  readonly actor?: string
  readonly stop_reason?: string
  readonly interrupted?: boolean
  readonly error?: string
  readonly files?: readonly { path: string; added: number; removed: number }[]
  readonly files_left_out?: number
  readonly added?: number
  readonly removed?: number
  readonly tools?: number
  readonly commands?: number
  readonly commands_failed?: number
  readonly questions?: number
  readonly tokens?: number
}

/** A session at a glance, up to `at_seq`. Times are ms since `from`. */
export interface Overview {
  readonly epoch: string
  readonly min_seq: Seq
  readonly at_seq: Seq
  readonly from: string
  readonly to: string
  /** How many events fell into each stretch of `bucket_ms`. */
  readonly time: { readonly bucket_ms: number; readonly events: readonly number[] | null }
  /** When each stretch of `bucket_events` events begins: as it was, and with each gap over 2 s taken as 2 s. */
  readonly order: {
    readonly bucket_events: number
    readonly at_ms: readonly number[] | null
    readonly played_ms: readonly number[] | null
  }
  readonly marks: readonly Mark[]
  readonly turns: readonly TurnLine[]
  readonly turns_left_out?: number
}

/** The index of the last value that is at most `wanted`, in values that never fall; 0 where none is. */
export function lastAtMost(values: readonly number[], wanted: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const mid = (low + high) >> 1
    if (values[mid]! <= wanted) low = mid + 1
    else high = mid
  }
  return Math.max(0, low - 1)
}

/** The turn that a seq is in: the last that began at or before it. */
export function turnAt(overview: Overview, seq: Seq): TurnLine | undefined {
  return overview.turns.findLast((turn) => turn.seq <= seq)
}

/** About when an event was, in ms since the first: exact where a stretch begins, even between. */
export function aboutWhen(overview: Overview, seq: Seq): number {
  const { bucket_events: size, at_ms } = overview.order
  const at = at_ms ?? []
  const whole = Math.max(0, Date.parse(overview.to) - Date.parse(overview.from)) || 0
  const place = Math.max(0, seq - overview.min_seq) / Math.max(1, size)
  const bucket = Math.min(Math.floor(place), at.length - 1)
  if (bucket < 0) return 0
  const begin = at[bucket]!
  const last = bucket === at.length - 1
  const end = last ? whole : at[bucket + 1]!
  const share = last ? (overview.at_seq - overview.min_seq) / Math.max(1, size) - bucket : 1
  return begin + (end - begin) * Math.min(1, share > 0 ? (place - bucket) / share : 1)
}

/** How many stretches `orderOf` divides a session into at most. */
const stretches = 512

/** When each stretch of a session's events begins, a clock that went back standing still. */
export function orderOf(events: readonly AbideEvent[], idleMs: number): Overview['order'] {
  const size = Math.max(1, Math.ceil(events.length / stretches))
  const begins: { at: number; played: number }[] = []
  const from = Date.parse(events[0]?.time ?? '')
  let [at, played] = [0, 0]
  events.forEach((event, i) => {
    const gap = Math.max(0, Date.parse(event.time) - from - at) || 0
    at += gap
    played += Math.min(gap, idleMs)
    if (i % size === 0) begins.push({ at, played })
  })
  return { bucket_events: size, at_ms: begins.map((b) => b.at), played_ms: begins.map((b) => b.played) }
}
