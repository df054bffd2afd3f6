import { Tokenizer, type Tokens } from 'marked'

/** How deep quotes and lists lie within each other, and emphasis and links within each other. */
const nestingMax = 32
const inlineNestingMax = 8
/** How long a list or a quote is. */
const lengthMax = 32_000
const linesMax = 500
/**
 * A paragraph, an item or a cell: the characters that could begin or end something take the
 * longest.
 */
const inlineMax = 10_000
const marksMax = 800
const longWord = /\S{3000}/
const marks = /[*_~[\]!<`@]/g
/** A table's first rows are as many as hold so many cells, and so much text. */
const cellsMax = 600
const columnsMax = 100
const tableMax = 20_000

/** A block that is shown as it was written, because reading it would take too long. */
export interface Source extends Tokens.HTML {
  source: true
}

/** A table of which only the first rows are read; the others wait as a table of their own. */
export interface CutTable extends Tokens.Table {
  rest?: { source: string; count: number }
}

/** Whether a text is too long, or too tangled, to be parsed for inline marks. */
export function isTooMuch(text: string): boolean {
  if (text.length <= marksMax) return false
  return text.length > inlineMax || (text.match(marks)?.length ?? 0) > marksMax || longWord.test(text)
}

class TooDeep extends Error {}

/**
 * Reads markdown with bounds on the cost of a block: past them the text stays as it was written. A
 * bound depends on nothing but the block, so that a block reads alike by itself and within its
 * message.
 */
export class BoundedTokenizer extends Tokenizer {
  private depth = 0
  private inlineDepth = 0

  // HTML is text: an agent's HTML never becomes markup of the page.
  /** A footnote is words at the place they stand, and no address. */
  override def(src: string): Tokens.Def | undefined {
    const def = super.def(src)
    return def?.tag.startsWith('^') ? undefined : def
  }

  override html(): undefined {}
  override tag(): undefined {}

  override blockquote(src: string) {
    return /^ {0,3}>/.test(src) ? this.container(src, (part) => super.blockquote(part)) : undefined
  }

  override list(src: string) {
    return /^ {0,3}(?:[*+-]|\d{1,9}[.)])/.test(src)
      ? this.container(src, (part) => super.list(part))
      : undefined
  }

  override table(src: string): CutTable | undefined {
    const match = this.rules.block.table.exec(src)
    if (!match) return undefined
    const raw = match[0]
    const head = raw.indexOf('\n', raw.indexOf('\n') + 1) + 1 || raw.length
    if (head > tableMax) return sourceOf(raw.trimEnd()) as never
    const columns = super.table(raw.slice(0, head))?.header.length
    if (columns === undefined) return undefined
    if (columns > columnsMax) return sourceOf(raw.trimEnd()) as never
    const most = Math.max(10, Math.ceil(cellsMax / columns))
    const rows = (match[3] ?? '').replace(/\n[ \t]*$/, '').split('\n')
    let kept = 0
    for (let size = head; kept < rows.length && size < tableMax; kept++) size += rows[kept]!.length + 1
    // Some rows more cost less than a press of a button.
    if (kept === rows.length && kept <= most * 1.5) return super.table(src)
    kept = Math.min(kept, most)
    const begin = raw.slice(0, head)
    const table = super.table(begin + rows.slice(0, kept).join('\n'))
    if (!table) return undefined
    return { ...table, raw, rest: { source: begin + rows.slice(kept).join('\n'), count: rows.length } }
  }

  override emStrong(...of: Parameters<Tokenizer['emStrong']>) {
    return this.inline(() => super.emStrong(...of))
  }
  override del(...of: Parameters<Tokenizer['del']>) {
    return this.inline(() => super.del(...of))
  }
  override link(src: string) {
    return this.inline(() => super.link(src))
  }
  override reflink(...of: Parameters<Tokenizer['reflink']>) {
    return this.inline(() => super.reflink(...of))
  }

  private inline<T>(read: () => T): T | undefined {
    if (this.inlineDepth >= inlineNestingMax) return undefined
    this.inlineDepth++
    try {
      return read()
    } finally {
      this.inlineDepth--
    }
  }

  /** Reads a list or a quote; the outermost is the source of it all where it is too long or too deep. */
  private container<T extends Tokens.Generic>(
    src: string,
    read: (src: string) => T | undefined,
  ): T | undefined {
    if (this.depth >= nestingMax) throw new TooDeep()
    const outermost = this.depth === 0
    const state = { ...this.lexer.state }
    const queued = this.lexer.inlineQueue.length
    const end = outermost ? endOf(src) : src.length
    this.depth++
    try {
      const token = read(outermost ? src.slice(0, seenTo(src, end)) : src)
      if (!outermost || !token || token.raw.trimEnd().length <= end) return token
    } catch (err) {
      if (!outermost || !(err instanceof TooDeep)) throw err
    } finally {
      this.depth--
    }
    this.lexer.state = state
    this.lexer.inlineQueue.length = queued
    return sourceOf(stretch(src)) as never
  }
}

/** Where a list or a quote has to have ended. */
function endOf(src: string): number {
  let end = -1
  for (let lines = 0; lines < linesMax; lines++) {
    end = src.indexOf('\n', end + 1)
    if (end < 0 || end > lengthMax) return lengthMax
  }
  return end
}

/** How much is looked at to know whether it did: the next line that has something says so. */
function seenTo(src: string, end: number): number {
  const line = src.indexOf('\n', end)
  if (line < 0) return 2 * lengthMax
  const next = /\S/g
  next.lastIndex = line
  const word = next.exec(src)?.index ?? src.length
  const last = src.indexOf('\n', word)
  return Math.min(last < 0 ? src.length : last, Math.max(word, end) + lengthMax)
}

/** A list or a quote goes at the furthest to a line after an empty one that begins neither. */
function stretch(src: string): string {
  const end = /\n[ \t]*\n(?=[^\s>*+\-\d])/.exec(src)?.index ?? src.length
  return src.slice(0, end).trimEnd()
}

/** No kind of its own: HTML is shown as text, too, and no block is joined to it. */
function sourceOf(raw: string): Source {
  return { type: 'html', raw, text: raw, block: true, pre: false, source: true }
}
