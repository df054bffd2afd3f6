/** How long a finger stays, in ms, to ask for what a press does not do. */
const stays = 500
/** A finger that moves no further than this stays, in px. */
const still = 10

/**
 * Calls `act` with what a finger stays on; if that returns true, letting go does nothing more. iOS sends no event
 * for it, other browsers send `contextmenu`.
 */
export function held(area: HTMLElement, act: (target: Element) => boolean): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let from = { x: 0, y: 0 }
  let done = false

  const start = (event: TouchEvent) => {
    clearTimeout(timer)
    done = false
    const [touch] = event.touches
    if (!touch || event.touches.length > 1) return
    from = { x: touch.clientX, y: touch.clientY }
    timer = setTimeout(() => (done = act(event.target as Element)), stays)
  }
  const move = ({ touches: [touch] }: TouchEvent) => {
    if (touch && Math.hypot(touch.clientX - from.x, touch.clientY - from.y) > still) clearTimeout(timer)
  }
  const end = (event: TouchEvent) => {
    clearTimeout(timer)
    if (done) event.preventDefault()
  }
  const asked = (event: MouseEvent) => {
    if ((event as PointerEvent).pointerType !== 'touch') return
    clearTimeout(timer)
    done ||= act(event.target as Element)
    if (done) event.preventDefault()
  }
  const gone = () => clearTimeout(timer)
  area.addEventListener('touchstart', start, { passive: true })
  area.addEventListener('touchmove', move, { passive: true })
  area.addEventListener('touchend', end)
  area.addEventListener('touchcancel', gone)
  area.addEventListener('contextmenu', asked)
  return () => {
    gone()
    area.removeEventListener('touchstart', start)
    area.removeEventListener('touchmove', move)
    area.removeEventListener('touchend', end)
    area.removeEventListener('touchcancel', gone)
    area.removeEventListener('contextmenu', asked)
  }
}
