/** How far a finger draws a row before letting go does something. */
const enough = 90
/** Less than this, or more up and down than aside, is a tap or a scroll. */
const begun = 12
/** A finger that moves no further than this stays. */
const still = 10
/** How long a finger stays on a row, in ms, to ask for its menu. */
const stays = 500

export type Way = 'left' | 'right'

/**
 * Lets a finger draw the rows of a list aside: to the left for one thing, to the right for another.
 * A finger that stays makes the `contextmenu` event that iOS does not send.
 */
export function swipes(
  list: HTMLElement,
  act: (id: string, way: Way) => void,
  /** Called when a row begins to be drawn, is drawn the other way, and is let go (null). */
  show: (row: HTMLElement, way: Way | null) => void = () => {},
): () => void {
  let row: HTMLElement | null = null
  let from = { x: 0, y: 0 }
  let by = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  /** The finger has asked for the menu, here or in the browser: letting go of it does nothing. */
  let asked = false

  const start = (event: TouchEvent) => {
    cancel()
    const [touch] = event.touches
    if (!touch || event.touches.length > 1) return
    row = (event.target as Element).closest<HTMLElement>('[data-row]')
    from = { x: touch.clientX, y: touch.clientY }
    if (row) timer = setTimeout(stayed, stays)
  }
  const stayed = () => {
    const of = row
    end()
    of?.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true }))
    asked = true
  }
  /** The browser's own event: before ours it takes its place, after ours it is one too many. */
  const menu = (event: Event) => {
    if (asked) {
      event.preventDefault()
      event.stopPropagation()
    } else if (row) {
      end()
      asked = true
    }
  }
  const move = (event: TouchEvent) => {
    const [touch] = event.touches
    if (!row || !touch) return
    const x = touch.clientX - from.x
    const y = touch.clientY - from.y
    if (by === 0 && Math.hypot(x, y) <= still) return
    clearTimeout(timer)
    if (by === 0 && Math.abs(y) > Math.abs(x)) return end()
    if (by === 0 && Math.abs(x) < begun) return
    if (by === 0 || by < 0 !== x < 0) show(row, x < 0 ? 'left' : 'right')
    by = x
    event.preventDefault() // it is no scroll
    row.style.transform = `translateX(${Math.max(-140, Math.min(140, by))}px)`
    row.dataset['drawn'] = Math.abs(by) < enough ? '' : by < 0 ? 'left' : 'right'
  }
  const end = () => {
    clearTimeout(timer)
    row?.style.removeProperty('transform')
    if (row) delete row.dataset['drawn']
    if (row && by !== 0) show(row, null)
    row = null
    by = 0
  }
  const cancel = () => {
    end()
    asked = false
  }
  const letGo = (event: Event) => {
    if (asked) event.preventDefault() // the link under the finger is not followed
    const id = row?.dataset['row']
    const drawn = by
    cancel()
    if (id && Math.abs(drawn) >= enough) act(id, drawn < 0 ? 'left' : 'right')
  }
  list.addEventListener('touchstart', start, { passive: true })
  list.addEventListener('touchmove', move, { passive: false })
  list.addEventListener('touchend', letGo)
  list.addEventListener('touchcancel', cancel)
  list.addEventListener('contextmenu', menu, { capture: true })
  return () => {
    cancel()
    list.removeEventListener('contextmenu', menu, { capture: true })
    list.removeEventListener('touchstart', start)
    list.removeEventListener('touchmove', move)
    list.removeEventListener('touchend', letGo)
    list.removeEventListener('touchcancel', cancel)
  }
}
