/**
 * Puts the focus where a person who opened a session goes on: at the feed when they came by its keys, else at the
 * composer. By touch the composer would open a keyboard, so the focus stays. Whoever is at something already stays there.
 */
export function arrive(byKeys: boolean): void {
  const at = document.activeElement
  if (at && at !== document.body && !at.closest('[role=navigation]')) return
  if (!byKeys && (matchMedia('(pointer: coarse)').matches || matchMedia('(max-width: 820px)').matches)) return
  document
    .querySelector<HTMLElement>(byKeys ? '[role=feed]' : '[data-composer]')
    ?.focus({ preventScroll: true })
}
