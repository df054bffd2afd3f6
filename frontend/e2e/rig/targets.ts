// How large controls are to a finger: the app's own measure is 44 px, above WCAG's 24.
import type { Page } from 'playwright-core'

/** The smallest target of a touch screen, each way. */
const smallest = 44

/**
 * The controls that a finger hits on less than 44 × 44 px, and what they are. A control is as large as its box, as
 * the label that holds it, or as what around its middle leads to it. Two kinds are let off, as WCAG lets them off:
 * one that stands in a line of text, and one whose height a line of text beside it gives.
 */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((smallest) => {
    const pressed =
      'button, a[href], input, select, textarea, summary, ' +
      ['button', 'menuitem', 'tab', 'option', 'switch', 'checkbox'].map((role) => `[role=${role}]`).join()
    const there = (e: Element) => {
      if (!e.checkVisibility({ visibilityProperty: true }) || e.closest('[inert]')) return false
      if (e.matches(':disabled, [aria-disabled=true], [type=hidden], [type=file]')) return false
      // A finger does not press words for readers only.
      return !e.closest('.visually-hidden') && e.getBoundingClientRect().width > 1
    }
    /** In a line of text, with words beside it, or the number of a line of code. */
    const inText = (e: Element) => {
      if (!e.matches('a, button')) return false
      const words = (n: ChildNode) => n !== e && n.nodeType === Node.TEXT_NODE && n.nodeValue!.trim() !== ''
      if (getComputedStyle(e).display.startsWith('inline') && [...e.parentElement!.childNodes].some(words))
        return true
      return e.parentElement!.matches(':has(~ code)')
    }
    const leadsTo = (e: Element, x: number, y: number) => {
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return true
      const hit = document.elementFromPoint(x, y)
      return !!hit && (e.contains(hit) || !!hit.closest('label')?.contains(e))
    }
    const large = (e: Element) => {
      const { width, height } = (e.closest('label') ?? e).getBoundingClientRect()
      if (width > smallest - 0.5 && height > smallest - 0.5) return true
      e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' })
      const { left, top, width: w, height: h } = e.getBoundingClientRect()
      const [x, y] = [left + w / 2, top + h / 2]
      const reach = smallest / 2 - 1
      const across = w > smallest - 0.5 || [-reach, reach].every((by) => leadsTo(e, x + by, y))
      const along = h > smallest - 0.5 || [-reach, reach].every((by) => leadsTo(e, x, y + by))
      return across && along
    }
    return [...document.querySelectorAll(pressed)]
      .filter((e) => there(e) && !inText(e) && !large(e))
      .map((e) => {
        const { width, height } = e.getBoundingClientRect()
        const { outerHTML } = e.cloneNode(false) as Element
        return `${Math.round(width)} × ${Math.round(height)}: ${outerHTML.slice(0, 120)} ${e.textContent.trim().slice(0, 30)}`
      })
  }, smallest)
}
