import { Lexer } from 'marked'
import { options } from './parser'

/** A link definition anywhere can change how any block reads. */
const definition = /^ {0,3}\[[^\]\n]+\]:/m

/**
 * Splits growing markdown into blocks. Blocks that further text cannot change
 * are settled: they are given out once, in order, and never looked at again;
 * what follows them is the tail. Rendering the settled blocks and the tail one
 * by one equals rendering the whole text.
 */
export class Blocks {
  readonly settled: string[] = []
  tail = ''
  private text = ''

  /** Takes the text so far; false when it does not continue what was there, so that all blocks are new. */
  update(text: string): boolean {
    const continues = text.startsWith(this.text) && !(definition.test(text) && this.settled.length > 0)
    if (!continues) this.settled.length = 0
    const from = continues ? this.text.length - this.tail.length : 0
    this.text = text
    this.tail = text.slice(from)
    if (!definition.test(text)) this.settle()
    return continues
  }

  private settle(): void {
    // An unfinished line may still turn out to belong to the block above it:
    // "2" becomes "2. next" and goes on with the list.
    const whole = this.tail.slice(0, this.tail.lastIndexOf('\n') + 1)
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
