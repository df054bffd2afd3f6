import type { Token } from '../../markdown/tokens'
import type { Mark } from '../../text/words'

/** A part of a line that looks the same throughout. */
export interface Part {
  text: string
  /** The highlighter's class. */
  look: string
  changed: boolean
}

/** Cuts a line where its colour changes, or begins or ends to be a changed word. */
export function partsOf(text: string, tokens: readonly Token[], marks: readonly Mark[]): Part[] {
  const cuts = [...new Set([0, text.length, ...[...tokens, ...marks].flatMap(([from, to]) => [from, to])])]
    .filter((at) => at <= text.length)
    .sort((a, b) => a - b)
  const parts: Part[] = []
  for (const [k, from] of cuts.entries()) {
    const to = cuts[k + 1]
    if (to === undefined) break
    const within = ([start, end]: readonly [number, number, ...unknown[]]) => start <= from && to <= end
    // Of tokens in each other the inner one counts; it comes later.
    const look = tokens.findLast(within)?.[2] ?? ''
    parts.push({ text: text.slice(from, to), look, changed: marks.some(within) })
  }
  return parts
}
