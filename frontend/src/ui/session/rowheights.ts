import { span, type Row } from '../../state/rows'
import { RowWindow } from '../../virtual/window'
import { Resized } from '../parts/resized'
import { estimate } from './estimate'

/** A row that grew at its top: its key, and by how many px. */
export interface Grown {
  key: string
  by: number
}

/** The heights of a feed's rows, as the page has them wherever it has had them. */
export class RowHeights extends RowWindow<Row> {
  /** The oldest row: older events may belong to it, and then it grows at its top. */
  private oldest: { key: string; seq: number } | null = null
  /** Rows that grew so and are not measured yet, with their heights before. */
  private readonly growing = new Map<string, number>()

  private readonly seen = new Resized((entries) => {
    let changed = false
    for (const { target, borderBoxSize } of entries) {
      const { key } = (target as HTMLElement).dataset
      const height = borderBoxSize[0]!.blockSize
      if (!key) continue
      if (this.measure(key, height)) changed = true
      const before = this.growing.get(key)
      if (before === undefined) continue
      this.growing.delete(key)
      this.grew({ key, by: height - before })
      changed = true
    }
    if (changed) this.changed()
  })

  constructor(
    /** Called for each row that grew at its top, before `changed`. */
    private readonly grew: (row: Grown) => void,
    /** Called once for all heights that turned out to be others than assumed. */
    private readonly changed: () => void,
  ) {
    super(estimate)
  }

  /**
   * Takes the rows. An older page may begin with the start of the oldest row, which then grows at
   * its top.
   */
  override sync(rows: readonly Row[]): void {
    const { oldest } = this
    const height = oldest ? this.height(oldest.key) : 0
    super.sync(rows)
    const head = rows[0]
    if (!head) return
    const was = oldest && rows[this.indexOf(oldest.key)]
    if (was && span(was).first < oldest.seq) this.growing.set(was.key, height)
    this.oldest = { key: head.key, seq: span(head).first }
  }

  /** Measures the row in a slot for as long as it is in the page; an action. */
  watch = (slot: HTMLElement) => {
    const row = slot.firstElementChild as HTMLElement
    this.seen.observe(row)
    return { destroy: () => this.seen.unobserve(row) }
  }

  /** Measures no more. */
  stop(): void {
    this.seen.disconnect()
  }
}
