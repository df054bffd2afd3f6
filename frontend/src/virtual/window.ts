import { Fenwick } from './fenwick'

/** The rows to have in the page, `to` excluded, and the empty space around them in px. */
export interface Range {
  from: number
  to: number
  above: number
  below: number
}

/** Where the reader is: a row by its key, and how far its top is below the top of the view, in px. */
export interface Anchor {
  key: string
  offset: number
}

interface Keyed {
  readonly key: string
}

/**
 * The heights of a long list of rows, of which only those near the view are in the page. Heights of
 * rows never seen are estimates; measuring one changes the height above or below the reader, which
 * the anchor makes up for.
 */
export class RowWindow<R extends Keyed> {
  private rows: readonly R[] = []
  private heights = new Fenwick()
  private readonly measured = new Map<string, number>()
  private indices = new Map<string, number>()

  constructor(private readonly estimate: (row: R) => number) {}

  get total(): number {
    return this.heights.sum(this.rows.length)
  }

  /**
   * Takes the rows as they are now. The cost of appending grows with the appended rows only; any
   * other change costs a pass.
   */
  sync(rows: readonly R[]): void {
    const old = this.rows
    this.rows = rows
    const kept = this.keptPrefix(old, rows)
    if (kept === old.length && old.length === rows.length) return
    if (kept < old.length - 8) {
      this.heights = Fenwick.of(rows.map((r) => this.heightOf(r)))
      this.indices = new Map(rows.map((r, i) => [r.key, i]))
      return
    }
    this.heights.truncate(kept)
    for (let i = kept; i < old.length; i++) this.indices.delete(old[i]!.key)
    for (let i = kept; i < rows.length; i++) {
      this.heights.push(this.heightOf(rows[i]!))
      this.indices.set(rows[i]!.key, i)
    }
  }

  /** Notes a row's height as the page has it; true when it differs from the assumed height. */
  measure(key: string, height: number): boolean {
    const index = this.indexOf(key)
    if (index < 0 || Math.abs(this.heights.get(index) - height) < 0.5) return false
    this.measured.set(key, height)
    this.heights.set(index, height)
    return true
  }

  /** Rows of another width have other heights: the measured height is only an estimate now. */
  forget(): void {
    this.measured.clear()
  }

  /** The height of a row, measured or assumed; 0 when it is not there. */
  height(key: string): number {
    const index = this.indexOf(key)
    return index < 0 ? 0 : this.heights.get(index)
  }

  range(top: number, view: number, margin: number): Range {
    if (this.rows.length === 0) return { from: 0, to: 0, above: 0, below: 0 }
    const from = this.heights.find(Math.max(0, top - margin))
    const to = Math.min(this.rows.length, this.heights.find(Math.max(0, top + view + margin)) + 1)
    const above = this.heights.sum(from)
    return { from, to, above, below: this.total - this.heights.sum(to) }
  }

  /** The first row that is in view at scroll position `top`. */
  anchorAt(top: number): Anchor | null {
    const index = this.heights.find(Math.max(0, top))
    const row = this.rows[index]
    return row ? { key: row.key, offset: this.heights.sum(index) - top } : null
  }

  /** The scroll position that puts the anchor where it was; null when its row is gone. */
  topOf(anchor: Anchor): number | null {
    const index = this.indexOf(anchor.key)
    return index < 0 ? null : this.heights.sum(index) - anchor.offset
  }

  indexOf(key: string): number {
    return this.indices.get(key) ?? -1
  }

  /** How many rows at the start are the same; rows are compared where changes happen, at both ends. */
  private keptPrefix(old: readonly R[], rows: readonly R[]): number {
    if (old.length === 0 || rows.length === 0 || old[0]!.key !== rows[0]!.key) return 0
    let kept = Math.min(old.length, rows.length)
    // Appending changes the end only: rows before a key that kept its place kept theirs.
    while (kept > 0 && old[kept - 1]!.key !== rows[kept - 1]!.key) kept--
    return kept
  }

  private heightOf(row: R): number {
    return this.measured.get(row.key) ?? this.estimate(row)
  }
}
