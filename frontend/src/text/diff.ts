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

/** Bounded: a hostile pair costs at most about 100 ms. */
const compare = (before: string, after: string) =>
  structuredPatch('', '', before, after, undefined, undefined, {
    context: 3,
    timeout: 100,
    maxEditLength: 5000,
  })

/** Compares two texts by line. */
export function diffTexts(before: string, after: string): Diff {
  const patch = compare(before, after)
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

/** Returns the change of a file as a unified diff, which `git apply` and `patch` take. */
export function patchOf(path: string, before: string, after: string): string {
  const hunks = compare(before, after)?.hunks ?? [wholeHunk(before, after)]
  const name = (side: string, text: string) => {
    if (text === '') return '/dev/null'
    const named = `${side}/${path.replace(/^\/+/, '')}`
    // A line break in a name would be read as a line of the patch.
    // eslint-disable-next-line no-control-regex
    return /["\\\x00-\x1f]/.test(named) ? JSON.stringify(named) : named
  }
  const out = [`--- ${name('a', before)}`, `+++ ${name('b', after)}`]
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    // A side without lines is named by the line before it.
    const old = oldLines === 0 ? oldStart - 1 : oldStart
    const now = newLines === 0 ? newStart - 1 : newStart
    out.push(`@@ -${old},${oldLines} +${now},${newLines} @@`, ...lines)
  }
  return `${out.join('\n')}\n`
}

function wholeHunk(before: string, after: string) {
  const side = (text: string, sign: string) => {
    if (text === '') return { lines: [], count: 0 }
    const lines = text.replace(/\n$/, '').split('\n')
    const end = text.endsWith('\n') ? [] : ['\\ No newline at end of file']
    return { lines: [...lines.map((line) => sign + line), ...end], count: lines.length }
  }
  const old = side(before, '-')
  const now = side(after, '+')
  return {
    oldStart: 1,
    oldLines: old.count,
    newStart: 1,
    newLines: now.count,
    lines: [...old.lines, ...now.lines],
  }
}
