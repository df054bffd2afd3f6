import type { AbideEvent, Overview, Seq, TurnLine } from '../wire/gen'

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

/** The changed files, tokens, working time and calls of a whole session. */
export function sumsOf(overview: Overview) {
  const files = new Map<string, { added: number; removed: number; uncounted: boolean; seq: Seq }>()
  let [tokens, ms, tools, more] = [0, 0, 0, 0]
  for (const turn of overview.turns) {
    tokens += turn.tokens ?? 0
    ms += turn.ms ?? 0
    tools += turn.tools
    more += turn.files_left_out ?? 0
    for (const { path, added, removed, uncounted } of turn.files) {
      const sum = files.get(path)
      files.set(path, {
        added: added + (sum?.added ?? 0),
        removed: removed + (sum?.removed ?? 0),
        uncounted: uncounted || (sum?.uncounted ?? false),
        seq: turn.seq,
      })
    }
  }
  // Of a session with very many turns the hub tells the newest.
  const turns = overview.turns_left_out ? overview.turns.length : 0
  return { files: [...files], tokens, ms, tools, more, turns }
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
