import { aboutWhen } from '../../state/overview'
import { own } from '../../state/own'
import type { Mark, MarkKind, Overview, Seq } from '../../wire/gen'

/** The counts along the timeline. */
export type Along = 'event' | 'time'

export const markWords: Record<MarkKind, string> = {
  prompt: t`Prompt`,
  edit: t`Edit`,
  command: t`Command`,
  question: t`Question`,
  error: t`Error`,
  interruption: t`Interruption`,
}

/** How far along the timeline a seq is, from 0 to 1. */
export function shareOf(overview: Overview, seq: Seq, last: Seq, along: Along): number {
  const { min_seq } = overview
  const share =
    along === 'event'
      ? (seq - min_seq) / Math.max(1, last - min_seq)
      : aboutWhen(overview, seq) / Math.max(1, wholeMs(overview))
  return Math.max(0, Math.min(1, share))
}

/** How long the session was, in ms. */
export function wholeMs(overview: Overview): number {
  return Math.max(0, Date.parse(overview.to) - Date.parse(overview.from)) || 0
}

/** The outline of how much happened along the timeline, as a path of that width and height. */
export function density(overview: Overview, along: Along, width: number, height: number): string {
  const values =
    along === 'time'
      ? (overview.time.events ?? [])
      : (overview.order.played_ms ?? []).map((ms, i, all) => (all[i + 1] ?? ms) - ms)
  if (values.length < 2) return ''
  const most = Math.max(...values, 1)
  const points = values.map((n, i) => {
    const y = height - height * Math.sqrt(n / most)
    return `L${((i / values.length) * width).toFixed(1)} ${y.toFixed(1)}H${(((i + 1) / values.length) * width).toFixed(1)}`
  })
  return `M0 ${height}${points.join('')}V${height}Z`
}

/** The shapes of the marks of one kind, each kind with a shape and a height of its own; of those in one place, one. */
export function shapes(
  overview: Overview,
  kind: MarkKind,
  last: Seq,
  along: Along,
  width: number,
  height: number,
): string {
  const taken = new Set<number>()
  const parts: string[] = []
  for (const mark of overview.marks) {
    if (mark.kind !== kind) continue
    const x = Math.round(shareOf(overview, mark.seq, last, along) * width)
    const cell = Math.floor(x / 4)
    if (taken.has(cell)) continue
    taken.add(cell)
    parts.push(shape(kind, x, height))
  }
  return parts.join('')
}

function shape(kind: MarkKind, x: number, height: number): string {
  const low = height - 5
  switch (kind) {
    case 'prompt': // a flag over the whole height
      return `M${x - 1} 0h6l-4 4v${height - 4}h-2z`
    case 'edit':
      return `M${x - 3} ${low - 3}h6v6h-6z`
    case 'command':
      return `M${x} ${low - 4}l4 4l-4 4l-4 -4z`
    case 'question':
      return `M${x - 3.5} 10a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`
    case 'error':
      return `M${x} 6l4.5 8h-9z`
    case 'interruption':
      return `M${x - 3} 6h2v9h-2zM${x + 1} 6h2v9h-2z`
  }
}

/** A mark's name, with its subject. */
export function nameOf(mark: Mark): string {
  const kind = own(markWords, mark.kind) ?? mark.kind
  return mark.label ? `${kind}: ${mark.label}` : kind
}
