import type { DiffLine } from './diff'

/** A run of changed lines with those around it, with both sides whole. */
export interface PatchPiece {
  path: string
  before: string
  after: string
  /** The lines of the file that the sides begin at. */
  first: { before: number; after: number }
  /** Their numbers count from 1, as those of a Diff. */
  lines: DiffLine[]
}

/** One file of a unified diff. */
export interface PatchFile {
  path: string
  became: 'added' | 'deleted' | 'changed'
  added: number
  removed: number
  /** None: the file is binary or empty, or only its mode changed. */
  pieces: PatchPiece[]
}

/** Reads a unified diff as git writes it, without renames. One that is cut has what came. */
export function filesOf(patch: string): PatchFile[] {
  const files: PatchFile[] = []
  const lines = patch.split('\n')
  let file: PatchFile | undefined
  for (let i = 0; i < lines.length;) {
    const line = lines[i++]!
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (line.startsWith('diff --git '))
      files.push((file = { path: sameName(line), became: 'changed', added: 0, removed: 0, pieces: [] }))
    else if (!file) continue
    else if (line.startsWith('new file')) file.became = 'added'
    else if (line.startsWith('deleted file')) file.became = 'deleted'
    else if (hunk) i = piece(file, hunk, lines, i)
  }
  return files
}

/** Reads the lines of a hunk, as many as it says, and returns where they end. */
function piece(file: PatchFile, [, from, olds = '1', to, news = '1']: string[], lines: string[], at: number) {
  const found: DiffLine[] = []
  const sides: [string[], string[]] = [[], []]
  const done = () => sides[0].length >= Number(olds) && sides[1].length >= Number(news)
  for (; at < lines.length && !done(); at++) {
    const sign = lines[at]![0]
    const text = lines[at]!.slice(1)
    if (sign !== '+' && sign !== '-' && sign !== ' ') {
      if (sign === '\\') continue
      break // cut
    }
    if (sign !== '+') sides[0].push(text)
    if (sign !== '-') sides[1].push(text)
    const [old, now] = [sides[0].length, sides[1].length]
    if (sign === '+') found.push({ kind: 'add', text, new: now })
    else if (sign === '-') found.push({ kind: 'remove', text, old })
    else found.push({ kind: 'same', text, old, new: now })
    if (sign === '+') file.added++
    else if (sign === '-') file.removed++
  }
  const [before, after] = [sides[0].join('\n'), sides[1].join('\n')]
  file.pieces.push({
    path: file.path,
    before,
    after,
    first: { before: Number(from), after: Number(to) },
    lines: found,
  })
  return at
}

/** The name in "diff --git a/NAME b/NAME", which is the same twice. */
function sameName(line: string): string {
  const both = line.slice('diff --git '.length)
  const one = both.slice(0, (both.length - 1) / 2)
  return (one.startsWith('"') ? unquoted(one) : one).slice(2)
}

/** A name that git quotes as C does, its bytes in octal. */
function unquoted(name: string): string {
  const escapes: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 }
  const bytes: number[] = []
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal) bytes.push(parseInt(octal, 8))
    else if (letter) bytes.push(escapes[letter] ?? letter.charCodeAt(0))
    else bytes.push(...new TextEncoder().encode(plain))
  }
  return new TextDecoder().decode(new Uint8Array(bytes))
}
