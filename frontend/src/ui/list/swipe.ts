/** How far a finger draws a row before letting go does something. */
const enough = 90
/** Less than this, or more up and down than aside, is a tap or a scroll. */
const begun = 12

/** Lets a finger draw the rows of a list aside: to the left for one thing, to the right for another. */
export function swipes(list: HTMLElement, act: (id: string, way: 'left' | 'right') => void): () => void {
  let row: HTMLElement | null = null
  let from = { x: 0, y: 0 }
  let by = 0

  const start = (event: TouchEvent) => {
    end()
    const [touch] = event.touches
    if (!touch || event.touches.length > 1) return
    row = (event.target as Element).closest<HTMLElement>('[data-row]')
    from = { x: touch.clientX, y: touch.clientY }
  }
  const move = (event: TouchEvent) => {
    const [touch] = event.touches
    if (!row || !touch) return
    const x = touch.clientX - from.x
    if (by === 0 && Math.abs(touch.clientY - from.y) > Math.abs(x)) return end()
    if (by === 0 && Math.abs(x) < begun) return
    by = x
    event.preventDefault() // it is no scroll
    row.style.transform = `translateX(${Math.max(-140, Math.min(140, by))}px)`
    row.dataset['drawn'] = Math.abs(by) < enough ? '' : by < 0 ? 'left' : 'right'
  }
  const end = () => {
    row?.style.removeProperty('transform')
    if (row) delete row.dataset['drawn']
    row = null
    by = 0
  }
  const letGo = () => {
    const id = row?.dataset['row']
    const drawn = by
    end()
    if (id && Math.abs(drawn) >= enough) act(id, drawn < 0 ? 'left' : 'right')
  }
  list.addEventListener('touchstart', start, { passive: true })
  list.addEventListener('touchmove', move, { passive: false })
  list.addEventListener('touchend', letGo)
  list.addEventListener('touchcancel', end)
  return () => {
    list.removeEventListener('touchstart', start)
    list.removeEventListener('touchmove', move)
    list.removeEventListener('touchend', letGo)
    list.removeEventListener('touchcancel', end)
  }
}
