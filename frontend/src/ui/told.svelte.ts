/** The announcements for a screen reader; the regions of the page say each change once. */
export class Told {
  /** The newest turn that ended, and how many were told: two may sound the same. */
  turn = $state.raw({ words: '', times: 0 })
  /** The question that waits for an answer. */
  question = $state.raw<{ id: string; title: string } | null>(null)
  /** That the connection is lost; empty while it is not. */
  connection = $state('')
  catchingUp = $state(false)
}
