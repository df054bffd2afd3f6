/** Sums of a growing list of numbers: change, prefix sum and search in O(log n). */
export class Fenwick {
  private tree: Float64Array
  private values: Float64Array
  length = 0

  constructor(capacity = 256) {
    this.tree = new Float64Array(capacity + 1)
    this.values = new Float64Array(capacity)
  }

  static of(values: ArrayLike<number>): Fenwick {
    const made = new Fenwick(Math.max(256, values.length * 2))
    for (let i = 0; i < values.length; i++) made.push(values[i]!)
    return made
  }

  get(index: number): number {
    return this.values[index] ?? 0
  }

  set(index: number, value: number): void {
    const delta = value - this.get(index)
    this.values[index] = value
    for (let i = index + 1; i <= this.length; i += i & -i) this.tree[i]! += delta
  }

  push(value: number): void {
    if (this.length === this.values.length) this.grow()
    const i = ++this.length
    this.values[i - 1] = value
    // A new node covers the range of the smaller nodes before it.
    let sum = value
    for (let j = i - 1; j > i - (i & -i); j -= j & -j) sum += this.tree[j]!
    this.tree[i] = sum
  }

  /** Forgets all values from length on. */
  truncate(length: number): void {
    this.length = Math.min(this.length, length)
  }

  /** The sum of the first `count` values. */
  sum(count: number): number {
    let total = 0
    for (let i = Math.min(count, this.length); i > 0; i -= i & -i) total += this.tree[i]!
    return total
  }

  /** The index of the value that the position `at` falls into; the last one if it is beyond the end. */
  find(at: number): number {
    let index = 0
    let rest = at
    let step = 1
    while (step * 2 <= this.length) step *= 2
    for (; step > 0; step >>= 1) {
      const next = index + step
      if (next <= this.length && this.tree[next]! <= rest) {
        index = next
        rest -= this.tree[next]!
      }
    }
    return Math.max(0, Math.min(index, this.length - 1))
  }

  private grow(): void {
    const values = new Float64Array(this.values.length * 2)
    values.set(this.values)
    this.values = values
    const tree = new Float64Array(values.length + 1)
    tree.set(this.tree)
    this.tree = tree
  }
}
