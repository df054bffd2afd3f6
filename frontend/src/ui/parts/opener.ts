/**
 * Remembers what has the focus now. What it returns gives the focus back, unless
 * it went elsewhere by itself: what is taken out of the page leaves it nowhere.
 */
export function opener(): () => void {
  const before = document.activeElement
  return () => {
    const lost = document.activeElement === null || document.activeElement === document.body
    if (lost && before instanceof HTMLElement && before.isConnected) before.focus()
  }
}
