import type { Comment } from '../wire/gen'

/** Characters that a comment quotes at most: with any of them within the hub's 4096 bytes. */
export const quoteMost = 1300
/** Lines that one comment is about at most. */
export const linesMost = 100

/** A line that can be commented on. */
export interface Line {
  readonly text: string
  /** Its number in the file, where that is known. */
  readonly at?: number | undefined
}

/** The lines that a comment on `count` of them is about, from the first: its place and its quote. */
export function linesAbout(
  lines: readonly Line[],
  count: number,
): { line?: number; end_line?: number; quote: string } {
  const line = lines[0]?.at
  const taken = lines.slice(0, count)
  const end = taken.at(-1)?.at
  return {
    ...(line && { line }),
    ...(line && end && end > line && { end_line: end }),
    quote: taken
      .map(({ text }) => text)
      .join('\n')
      .slice(0, quoteMost),
  }
}

type Placed = Pick<Comment, 'line' | 'quote'>

/**
 * Where the lines that a comment quotes are now: the indexes of the first and the last of them, at
 * the place nearest to where they were; null where they are no more. A comment without a quote
 * stays at its line.
 */
export function placeNow(
  lines: readonly Line[],
  { line, quote }: Placed,
): { from: number; to: number } | null {
  if (!quote) {
    const at = line ? lines.findIndex((l) => l.at === line) : -1
    return at < 0 ? null : { from: at, to: at }
  }
  const quoted = quote.split('\n')
  const cut = quote.length >= quoteMost || quote.length === earlierMost
  const same = (l: Line | undefined, i: number) =>
    l !== undefined && (cut && i === quoted.length - 1 ? l.text.startsWith(quoted[i]!) : l.text === quoted[i])
  let best: { from: number; to: number; away: number } | null = null
  for (let from = 0; from + quoted.length <= lines.length; from++) {
    if (!same(lines[from], 0) || !quoted.every((_, i) => same(lines[from + i], i))) continue
    const away = Math.abs((lines[from]!.at ?? from + 1) - (line ?? 0))
    if (best === null || away < best.away) best = { from, to: from + quoted.length - 1, away }
  }
  return best && { from: best.from, to: best.to }
}

/** Earlier builds of the app cut quotes here. */
const earlierMost = 500

/** The lines of a text, numbered from 1. */
export function linesOf(text: string): Line[] {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((text, i) => ({ text, at: i + 1 }))
}
