import { Resized } from '../parts/resized'

/**
 * Lets a box fade out at its lower edge while there is more below: its class `fades`. The height of
 * its contents goes into `--content`, so that a box can be kept from being higher than that.
 */
export function fading(box: HTMLElement): { destroy(): void } {
  const look = () => {
    const below = box.scrollHeight - box.clientHeight - box.scrollTop
    box.classList.toggle('fades', below > 2)
    const [first, last] = [box.firstElementChild, box.lastElementChild]
    const height = first && last ? last.getBoundingClientRect().bottom - first.getBoundingClientRect().top : 0
    box.style.setProperty('--content', `${Math.ceil(height)}px`)
  }
  const sizes = new Resized(look)
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
