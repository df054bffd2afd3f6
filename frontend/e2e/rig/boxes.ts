// How deep boxes stand in boxes.
import type { Page } from 'playwright-core'

/**
 * The boxes that stand in two others within one screen or dialog, and what they are. A box has a line on all sides; a
 * field and a button are none, and a table's cells are its lines.
 */
export function deepBoxes(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const box = (e: Element) => {
      if (e.matches('button, a, input, select, textarea, td, th, kbd, dialog')) return false
      const s = getComputedStyle(e)
      const ground = e.parentElement ? getComputedStyle(e.parentElement).backgroundColor : ''
      return (['Top', 'Right', 'Bottom', 'Left'] as const).every(
        (side) =>
          parseFloat(s[`border${side}Width`]) > 0 &&
          s[`border${side}Style`] !== 'none' &&
          s[`border${side}Color`] !== ground &&
          !/, 0\)$/.test(s[`border${side}Color`]),
      )
    }
    const depth = (e: Element | null): number =>
      e === null || e.matches('dialog') ? 0 : depth(e.parentElement) + (box(e) ? 1 : 0)
    const deep = [...document.querySelectorAll('main *, aside *, dialog *')].filter(
      (e) => e.checkVisibility() && box(e) && depth(e) > 2,
    )
    return deep.map((e) => `${e.tagName.toLowerCase()}.${e.className}: ${depth(e)}`)
  })
}
