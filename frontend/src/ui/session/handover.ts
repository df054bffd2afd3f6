/**
 * Keeps the focus when a question goes away while a person is in it: it moves to the next question,
 * else back to its earlier place, else to the feed. An action, also for elements that are no
 * question.
 */
export function handover(question: HTMLElement, after?: () => HTMLElement | null) {
  const screen = question.closest('main')
  let inside = false
  let before: HTMLElement | null = null

  const entered = ({ target, relatedTarget }: FocusEvent) => {
    const now = question.contains(target as Node)
    if (now && !inside) before = relatedTarget as HTMLElement | null
    inside = now
  }
  // A press on an element that takes no focus leaves the question, too.
  const pressed = ({ target }: PointerEvent) => (inside &&= question.contains(target as Node))
  document.addEventListener('focusin', entered)
  document.addEventListener('pointerdown', pressed)

  return {
    destroy() {
      document.removeEventListener('focusin', entered)
      document.removeEventListener('pointerdown', pressed)
      if (!inside) return
      // Not before the next question is there.
      setTimeout(() => {
        // Not when the whole screen went, or the person is elsewhere already.
        if (!screen?.isConnected || document.activeElement !== document.body) return
        const next = after ? after() : screen.querySelector<HTMLElement>('[data-permission]')
        const back = before?.isConnected ? before : screen.querySelector<HTMLElement>('[role=feed]')
        ;(next ?? back)?.focus({ preventScroll: true })
      })
    },
  }
}
