import type { SessionInfo } from '../../wire/gen'

/** How long the rows keep their places after a touch, and a press after they moved does nothing, in ms. */
const pause = 300

/**
 * Keeps rows under a finger: their order does not change while it is down and a moment after, and a press on a row
 * that has just moved does nothing, as it was meant for the row that was there.
 */
export class Steady {
  private held = $state(false)
  private order: readonly string[] = []
  private before: readonly string[] = []
  private movedAt = -Infinity
  private swallow = false
  private timer: ReturnType<typeof setTimeout> | undefined

  /** The sessions in the order that they are shown in. */
  readonly keep = (sorted: readonly SessionInfo[]): readonly SessionInfo[] => {
    if (this.held) {
      const places = new Map(this.order.map((id, at) => [id, at]))
      const place = (of: SessionInfo) => places.get(of.session_id) ?? sorted.length
      return [...sorted].sort((a, b) => place(a) - place(b))
    }
    const ids = sorted.map((s) => s.session_id)
    if (this.order.length > 0 && ids.some((id, at) => id !== this.order[at])) {
      this.before = this.order
      this.movedAt = performance.now()
    }
    this.order = ids
    return sorted
  }

  private readonly down = (event: Event) => {
    const id = (event.target as Element).closest<HTMLElement>('[data-row]')?.dataset['row'] ?? ''
    const moved = this.before.indexOf(id) !== this.order.indexOf(id)
    this.swallow = moved && performance.now() - this.movedAt < pause
    clearTimeout(this.timer)
    this.held = true
  }
  private readonly up = () => {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => (this.held = false), pause)
  }
  private readonly click = (event: Event) => {
    if (!this.swallow) return
    this.swallow = false
    event.preventDefault()
    event.stopPropagation()
  }

  attach(list: HTMLElement): () => void {
    const ends = new AbortController()
    const heard = { capture: true, signal: ends.signal }
    list.addEventListener('pointerdown', this.down, heard)
    for (const end of ['pointerup', 'pointercancel']) addEventListener(end, this.up, heard)
    list.addEventListener('click', this.click, heard)
    return () => {
      clearTimeout(this.timer)
      ends.abort()
    }
  }
}
