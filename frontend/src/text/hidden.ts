/** A run of text, or a character that would deceive the eye, shown by name. */
export interface Piece {
  text: string
  /** Set for an invisible character: the text to show in its place. */
  hidden?: string
}

// Bidirectional controls reorder the text ("Trojan Source"); zero-width and other invisible
// characters make two different commands look the same. A character that chooses the look of an
// emoji, or makes a keycap, belongs to the visible one.
const look = String.raw`(?<=(?![0-9#*])\p{Emoji})[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f\u20e3`
const unseen = String.raw`[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb\0-\x08\x0b-\x1f\x7f-\x9f]`
const deceiving = new RegExp(`(?!${look})${unseen}`, 'gu')

// More space than a command needs between two words or lines: the text behind it would be out of
// sight.
const blank = String.raw`[\p{Zs}\t\u2800]`
const room = new RegExp(`${blank}{20,}|\\n(?:${blank}*\\n){2,}`, 'gu')

/** Splits text so that characters a reader cannot see can be shown. */
export function reveal(text: string): Piece[] {
  return split(text, deceiving, (found) => [
    { text: found, hidden: `U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}` },
  ])
}

/** A text in one line of plain words, for a title or a label that takes no marks. */
export function legible(text: string): string {
  return reveal(text)
    .map(({ text, hidden }) => (hidden ? `[${hidden}]` : text))
    .join('')
}

/** Splits preformatted text, so that long runs of lines and spaces hide nothing either. */
export function revealLaidOut(text: string): Piece[] {
  const pieces = split(text, room, (found) => {
    if (!found.startsWith('\n')) return [{ text: found, hidden: t`${[...found].length} spaces` }]
    const empty = found.split('\n').length - 2
    return [
      { text: found.slice(0, -1), hidden: t`⏎ ${empty} empty lines` },
      { text: '\n' }, // so that the next text begins a line
    ]
  })
  return pieces.flatMap((piece) => (piece.hidden ? [piece] : reveal(piece.text)))
}

/** How many lines a text has, empty ones too. */
export function linesOf(text: string): number {
  return text.split('\n').length
}

function split(text: string, at: RegExp, shown: (found: string) => Piece[]): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const match of text.matchAll(at)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index) })
    pieces.push(...shown(match[0]))
    end = match.index + match[0].length
  }
  if (end < text.length) pieces.push({ text: text.slice(end) })
  return pieces
}
