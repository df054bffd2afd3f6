/** Up and down go through the field and the links below it; Enter in the field opens the first. */
export function arrows(list: HTMLElement): { destroy(): void } {
  const pressed = (event: KeyboardEvent) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
    const field = list.querySelector<HTMLElement>('[data-search]')
    const links = [...list.querySelectorAll<HTMLElement>('[data-entry]')]
    const all = field ? [field, ...links] : links
    const at = all.indexOf(event.target as HTMLElement)
    if (at < 0) return
    if (event.key === 'ArrowDown') all[at + 1]?.focus()
    else if (event.key === 'ArrowUp') all[at - 1]?.focus()
    else if (event.key === 'Enter' && event.target === field) links[0]?.click()
    else return
    event.preventDefault()
  }
  list.addEventListener('keydown', pressed)
  return { destroy: () => list.removeEventListener('keydown', pressed) }
}
