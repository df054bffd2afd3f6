// Its own file: the package's front brings words, JSON and patches along.
import { structuredPatch } from 'diff/lib/patch/create.js'

export interface DiffLine {
  kind: 'add' | 'remove' | 'same' | 'hunk'
  text: string
  /** Line numbers, from 1, on the sides that have the line. */
  old?: number
  new?: number
}

export interface Diff {
  lines: readonly DiffLine[]
  added: number
  removed: number
  /** The texts are too different to compare in time: shown as removed and added whole. */
  coarse: boolean
}

/** Compares two texts by line. Bounded: a hostile pair costs at most about 100 ms. */
export function diffTexts(before: string, after: string): Diff {
  const patch = structuredPatch('', '', before, after, undefined, undefined, {
    context: 3,
    timeout: 100,
    maxEditLength: 5000,
  })
  if (patch === undefined) return whole(before, after)
  const lines: DiffLine[] = []
  let added = 0
  let removed = 0
  for (const hunk of patch.hunks) {
    let o = hunk.oldStart
    let n = hunk.newStart
    if (lines.length > 0) lines.push({ kind: 'hunk', text: '' })
    for (const line of hunk.lines) {
      const text = line.slice(1)
      if (line.startsWith('+')) {
        added++
        lines.push({ kind: 'add', text, new: n++ })
      } else if (line.startsWith('-')) {
        removed++
        lines.push({ kind: 'remove', text, old: o++ })
      } else if (line.startsWith(' ')) lines.push({ kind: 'same', text, old: o++, new: n++ })
    }
  }
  return { lines, added, removed, coarse: false }
}

function whole(before: string, after: string): Diff {
  const split = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
  const old = split(before)
  const now = split(after)
  return {
    lines: [
      ...old.map((text, i): DiffLine => ({ kind: 'remove', text, old: i + 1 })),
      ...now.map((text, i): DiffLine => ({ kind: 'add', text, new: i + 1 })),
    ],
    added: now.length,
    removed: old.length,
    coarse: true,
  }
}
