const size = 256

/**
 * A list that is never changed: a new version shares all chunks but those that
 * differ. Appending one item to 100,000 copies 256 references and the spine.
 */
export class Chunks<T> {
  static readonly empty: Chunks<never> = new Chunks<never>([], 0)

  constructor(
    /** All chunks hold 256 items, but the last may hold fewer. */
    readonly chunks: readonly (readonly T[])[],
    readonly length: number,
  ) {}

  /** Returns the item at index, which must be in 0..length-1. */
  get(index: number): T {
    const item = this.chunks[Math.floor(index / size)]?.[index % size]
    if (item === undefined) throw new RangeError(`no item ${index} of ${this.length}`)
    return item
  }

  last(): T | undefined {
    return this.length === 0 ? undefined : this.get(this.length - 1)
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const chunk of this.chunks) yield* chunk
  }

  builder(): ChunksBuilder<T> {
    return new ChunksBuilder(this)
  }
}

/** Makes the next version of a list. It owns the chunks it has copied. */
export class ChunksBuilder<T> {
  private readonly chunks: (readonly T[])[]
  private readonly owned = new Set<number>()
  length: number

  constructor(from: Chunks<T>) {
    this.chunks = from.chunks.slice()
    this.length = from.length
  }

  get(index: number): T {
    const item = this.chunks[Math.floor(index / size)]?.[index % size]
    if (item === undefined) throw new RangeError(`no item ${index} of ${this.length}`)
    return item
  }

  set(index: number, item: T): void {
    this.own(Math.floor(index / size))[index % size] = item
  }

  push(item: T): void {
    this.own(Math.floor(this.length / size)).push(item)
    this.length++
  }

  done(): Chunks<T> {
    this.owned.clear() // a later change must copy again
    return new Chunks(this.chunks.slice(), this.length)
  }

  private own(at: number): T[] {
    if (!this.owned.has(at)) {
      this.chunks[at] = (this.chunks[at] ?? []).slice()
      this.owned.add(at)
    }
    return this.chunks[at] as T[]
  }
}
