import type { DiffLine } from './diff'

/** Returns the lines as rows of two sides: removed lines beside the added ones in their place. */
export function pairsOf(lines: readonly DiffLine[]): [DiffLine | null, DiffLine | null][] {
  const rows: [DiffLine | null, DiffLine | null][] = []
  let i = 0
  const run = (kind: DiffLine['kind']) => {
    const from = i
    while (lines[i]?.kind === kind) i++
    return lines.slice(from, i)
  }
  while (i < lines.length) {
    const removed = run('remove')
    const added = run('add')
    for (let k = 0; k < Math.max(removed.length, added.length); k++)
      rows.push([removed[k] ?? null, added[k] ?? null])
    const line = lines[i]
    if (line && line.kind !== 'remove' && line.kind !== 'add') {
      rows.push([line, line])
      i++
    }
  }
  return rows
}
