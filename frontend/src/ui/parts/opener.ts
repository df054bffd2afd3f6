/**
 * Remembers what has the focus now. What it returns gives the focus back, unless
 * it went elsewhere by itself: what is taken out of the page leaves it nowhere.
 * What a finger had pressed gets no ring that it did not have.
 */
export function opener(): () => void {
  const before = document.activeElement
  const focusVisible = before?.matches(':focus-visible') ?? false
  return () => {
    const lost = document.activeElement === null || document.activeElement === document.body
    if (lost && before instanceof HTMLElement && before.isConnected) before.focus({ focusVisible })
  }
}
