import { Lexer } from 'marked'
import { options } from './parser'

/** A link definition anywhere, in quotes and lists too, can change how any block reads. */
const definition = /^[ \t>*+\-\d.)]*\[(?:\\.|[^\]\\\n])+\]:/m
/** Where a block can end: nothing is settled before such a line. */
const emptyLine = /\n[ \t]*\n/
/** So much text is looked through at once, unless a block is longer. */
const piece = 16_000

/**
 * Splits growing markdown into blocks. Blocks that further text cannot change are settled: they are
 * given out once, in order, and never looked at again; the rest is the tail. Rendering the settled
 * blocks and the tail one by one equals rendering the whole text.
 *
 * The cost of an update grows with the tail and the added text, not with the whole.
 */
export class Blocks {
  readonly settled: string[] = []
  tail = ''
  /** The last text began with the one before it. */
  grew = false
  /** Not all of the text was looked through yet: the same text once more goes on. */
  behind = false
  private text = ''
  private size = piece
  private defines = false
  /** Where the last line begins; lines before it were searched for definitions. */
  private line = 0

  /**
   * Takes the text so far; false when it does not continue the text before, so that all blocks are
   * new. Stops where it is once that is `enough` for now.
   */
  update(text: string, enough: () => boolean = () => false): boolean {
    const grows = (this.grew = text.startsWith(this.text))
    if (!grows) {
      this.defines = false
      this.line = 0
    }
    // A line once more as it grows: a line that looked like a definition may end as none.
    const defines = this.defines || definition.test(text.slice(this.line))
    const continues = grows && !(defines && this.settled.length > 0)
    if (!continues) this.settled.length = 0
    const from = continues ? this.text.length - this.tail.length : 0
    const line = text.lastIndexOf('\n') + 1
    this.defines = this.defines || definition.test(text.slice(this.line, line))
    this.line = line
    this.text = text
    this.tail = text.slice(from)
    this.behind = false
    if (!defines && emptyLine.test(this.tail)) this.settle(enough)
    return continues
  }

  private settle(enough: () => boolean): void {
    for (;;) {
      const left = this.tail.length
      const all = this.size >= left
      this.settleIn(this.size)
      // A block that is longer needs more to end, at the next look if not at this one.
      this.size = all || this.tail.length < left ? piece : this.size * 2
      if (all) return
      if (enough()) {
        this.behind = true
        return
      }
    }
  }

  /** Settles the whole blocks in the first characters of the tail. */
  private settleIn(size: number): void {
    // An unfinished line may still turn out to belong to the block above it:
    // "2" becomes "2. next" and goes on with the list.
    const whole = this.tail.slice(0, this.tail.lastIndexOf('\n', size - 1) + 1)
    const tokens = new Lexer(options).blockTokens(whole, [])
    let last = tokens.length - 1
    while (last > 0 && tokens[last]!.type === 'space') last--
    let block = ''
    let used = 0
    for (let i = 0; i < last; i++) {
      block += tokens[i]!.raw
      // Cut at empty lines only: blocks that touch may read differently apart.
      if (tokens[i]!.type !== 'space' || block.trim() === '') continue
      this.settled.push(block)
      used += block.length
      block = ''
    }
    this.tail = this.tail.slice(used)
  }
}
