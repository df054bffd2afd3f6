/**
 * A part is laid out by itself (prose.css): growth of the last one costs the others nothing. It
 * ends after so many blocks, or once they weigh so much.
 */
const partBlocks = 32
const partWeight = 128
/**
 * The weight of the text shown or hidden at once, and the number of the newest portions that are
 * shown.
 */
const portionWeight = 250
const newest = 4

/**
 * Marks that begin an element, or often do: a cell, a link, a line of a list or of code, a mark of
 * emphasis.
 */
const begins = /[|[\n]|[*_`~]+|:\/\/|@|www\./g

/** About the number of elements that a block renders to. Large blocks have bounds of their own. */
export function weigh(block: string): number {
  const text = block.length > 4_000 ? block.slice(0, 4_000) : block.trim()
  return Math.min(1 + (text.match(begins)?.length ?? 0), portionWeight)
}

/** A run of blocks that is laid out by itself; parts of one portion are shown together. */
export interface Part {
  from: number
  to: number
  readonly portion: number
}

/** Where the blocks of a message lie: in parts, and those in portions. Both depend on nothing but the blocks before. */
export class Portions {
  /** The last part is the one that goes on, and that the tail is in. */
  readonly parts: Part[] = [{ from: 0, to: 0, portion: 0 }]
  private weight = 0
  private all = 0

  add(block: string): void {
    const part = this.parts.at(-1)!
    const weight = weigh(block)
    part.to++
    this.all += weight
    this.weight += weight
    if (part.to - part.from < partBlocks && this.weight < partWeight) return
    this.parts.push({ from: part.to, to: part.to, portion: Math.floor(this.all / portionWeight) })
    this.weight = 0
  }

  /** The first part of the newest portions, and of so many `more`. */
  first(more: number): number {
    const oldest = this.parts.at(-1)!.portion - newest + 1 - more
    return this.begin(this.parts.findLastIndex((part) => part.portion < oldest) + 1)
  }

  /** The first part of the portion that a part is in. */
  begin(at: number): number {
    while (at > 0 && this.parts[at - 1]!.portion === this.parts[at]!.portion) at--
    return at
  }
}
