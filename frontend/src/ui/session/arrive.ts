/**
 * Puts the focus where a person goes on after opening a session: at the feed when they came by its
 * keys, else at the composer. By touch the composer would open a keyboard, so the focus stays. A
 * focus that is somewhere already stays there.
 */
export function arrive(byKeys: boolean): void {
  const at = document.activeElement
  if (at && at !== document.body && !at.closest('[role=navigation]')) return
  if (!byKeys && (matchMedia('(pointer: coarse)').matches || matchMedia('(max-width: 820px)').matches)) return
  document
    .querySelector<HTMLElement>(byKeys ? '[role=feed]' : '[data-composer]')
    ?.focus({ preventScroll: true })
}
