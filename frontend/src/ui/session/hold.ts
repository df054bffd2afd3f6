/**
 * Remembers which button of the queue has the focus before the queue is drawn anew. Returns a
 * function that gives a lost focus back: to that button in its new place, else to the next likely
 * button. Only after a removal is that the next prompt's button for the same.
 */
export function hold(queue: HTMLElement, removed: string): () => void {
  const at = document.activeElement
  if (!(at instanceof HTMLElement) || !queue.contains(at)) return () => {}
  const line = at.closest('li')
  const next = line?.dataset['prompt'] === removed ? line.nextElementSibling : null

  const place = () => {
    if (at.isConnected && at.matches(':enabled')) return at
    // At an end of the list the other direction is the first that can be pressed.
    if (line?.isConnected) return line.querySelector<HTMLElement>('button:enabled')
    const same = next?.querySelector<HTMLElement>(`[aria-label^=Remove]`)
    const whole = [...queue.querySelectorAll<HTMLElement>(':scope > button')]
    return same ?? (line ? whole[0] : whole.at(-1))
  }
  return () => {
    const now = document.activeElement
    if (now === document.body || now === at) place()?.focus()
  }
}
