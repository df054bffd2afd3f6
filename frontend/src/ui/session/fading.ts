/** Lets a box fade out at its lower edge while there is more below: its class `fades`. */
export function fading(box: HTMLElement): { destroy(): void } {
  const look = () => {
    const below = box.scrollHeight - box.clientHeight - box.scrollTop
    box.classList.toggle('fades', below > 2)
  }
  const sizes = new ResizeObserver(look)
  sizes.observe(box)
  for (const part of box.children) sizes.observe(part)
  box.addEventListener('scroll', look, { passive: true })
  return {
    destroy() {
      sizes.disconnect()
      box.removeEventListener('scroll', look)
    },
  }
}
