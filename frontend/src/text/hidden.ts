/** A run of text, or a character that would deceive the eye, shown by name. */
export interface Piece {
  text: string
  /** Set for a character a reader cannot see. */
  hidden?: string
}

// Bidirectional controls reorder what is read ("Trojan Source"); zero-width
// and other invisible characters make two different commands look the same.
const deceiving =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu

/** Splits text so that characters a reader cannot see can be shown. */
export function reveal(text: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const match of text.matchAll(deceiving)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index) })
    const name = `U+${match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    pieces.push({ text: match[0], hidden: name })
    at = match.index + match[0].length
  }
  if (at < text.length) pieces.push({ text: text.slice(at) })
  return pieces
}
