/**
 * Remembers the focused element. Returns a function that gives the focus back, unless it went
 * elsewhere by itself: an element taken out of the page leaves the focus nowhere. A button pressed
 * by touch gets no ring that it did not have.
 */
export function opener(): () => void {
  const before = document.activeElement
  const focusVisible = before?.matches(':focus-visible') ?? false
  return () => {
    const lost = document.activeElement === null || document.activeElement === document.body
    if (lost && before instanceof HTMLElement && before.isConnected) before.focus({ focusVisible })
  }
}
