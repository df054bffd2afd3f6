/** A part of a text with the class the highlighter gave it. */
export type Token = readonly [from: number, to: number, look: string]

/** Tokens of a text by its lines. */
export function byLine(text: string, tokens: readonly Token[]): Token[][] {
  const lines: Token[][] = []
  let begin = 0
  let next = 0
  const sorted = [...tokens].sort((a, b) => a[0] - b[0] || b[1] - a[1])
  const open: Token[] = []
  for (const line of text.split('\n')) {
    const end = begin + line.length
    while (sorted[next] && sorted[next]![0] < end) open.push(sorted[next++]!)
    lines.push(
      open.flatMap(([from, to, look]): Token[] => {
        const [a, b] = [Math.max(from, begin) - begin, Math.min(to, end) - begin]
        return a < b ? [[a, b, look]] : []
      }),
    )
    begin = end + 1
    for (let k = open.length - 1; k >= 0; k--) if (open[k]![1] <= begin) open.splice(k, 1)
  }
  return lines
}
