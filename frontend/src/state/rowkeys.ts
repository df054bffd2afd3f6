import type { Seq } from '../wire/gen'
import { rowAt, span, type Row } from './rows'

/**
 * Lets the rows of one screen keep their keys. The oldest row, a text or a group of tool calls, may
 * turn out to begin in an older page; by its new first event it would be another row, and a reader,
 * or the focus, would lose its place.
 */
export class RowKeys {
  private oldest: Row | null = null
  /** By the key a row has of itself: where it begins, and the key it keeps. */
  private readonly kept = new Map<string, { first: Seq; key: string }>()
  private readonly made = new WeakMap<Row, Row>()

  /**
   * Returns the rows as given, except that rows with a late beginning keep their first key. Unless
   * the focus or an open part is among the rows, a row that begins late from now on may be made
   * anew: it moves nothing on the screen.
   */
  take(rows: readonly Row[], among = true): readonly Row[] {
    if (among) this.notice(rows)
    const out = rows.slice()
    for (const [own, { first, key }] of this.kept) {
      const at = rowAt(rows, first)
      const row = rows[at]
      if (row?.key === own) out[at] = this.keyed(row, key)
    }
    this.oldest = out[0] ?? null
    return out
  }

  private notice(rows: readonly Row[]): void {
    const { oldest } = this
    if (!oldest) return
    const { first } = span(oldest)
    for (let at = rowAt(rows, first); at >= 0; at--) {
      const row = rows[at]!
      if (span(row).first === first) return
      if (!continues(oldest, row)) continue
      for (const [own, { key }] of this.kept) if (key === oldest.key) this.kept.delete(own)
      if (row.key !== oldest.key) this.kept.set(row.key, { first: span(row).first, key: oldest.key })
      return
    }
  }

  /** A row is made anew only when its content changed. */
  private keyed(row: Row, key: string): Row {
    const was = this.made.get(row)
    if (was) return was
    const now: Row = row.kind === 'group' ? { ...row, key } : { ...row, key, item: { ...row.item, key } }
    this.made.set(row, now)
    return now
  }
}

/** Whether `later` is the end of `whole`, as it was while the beginning was missing. */
function continues(later: Row, whole: Row): boolean {
  if (whole.kind === 'group') {
    const key =
      later.kind === 'group' ? later.tools[0]!.key : later.item.kind === 'tool' ? later.item.key : null
    return whole.tools.some((t) => t.key === key)
  }
  if (later.kind === 'group') return false
  const [a, b] = [later.item, whole.item]
  if (a.kind !== 'text' || b.kind !== 'text') return a.key === b.key
  return a.role === b.role && a.turn === b.turn && a.messageId === b.messageId && a.seq <= b.last
}
