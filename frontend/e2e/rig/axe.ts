import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { elapse } from './until.ts'

const require = createRequire(import.meta.url)
const source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose result depends on the theme. Only these need a second run, in the dark theme. */
export const ofColours = ['color-contrast', 'link-in-text-block']

/** Rules that axe disables by default and that run here. target-size is WCAG 2.2, level AA. */
const more = ['target-size']

/** False positives of axe in this app: the rule and the element. */
const exceptions = [
  // WCAG exempts a target whose size is limited by the line height of other text. axe cannot tell that the line
  // numbers of a diff are beside lines of code.
  { rule: 'target-size', element: /^<button class="to [^>]*aria-label="Line / },
]

/**
 * The accessibility violations in the page that last, by all rules or by `rules`. Each is a line with the rule and the
 * element. Parts that load late and colours in transition may violate a rule for a moment, so this retries for up to
 * 20 s.
 */
export async function barriers(page: Page, rules?: string[]): Promise<string[]> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const found = await look(page, rules)
    if (found.length === 0 || Date.now() > deadline) return found
    await elapse(50)
  }
}

async function look(page: Page, rules?: string[]): Promise<string[]> {
  // axe is half a megabyte: inject it only once per page.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source)
  const options: RunOptions = {
    resultTypes: ['violations'],
    selectors: false,
    ...(rules
      ? { runOnly: { type: 'rule', values: rules } }
      : { rules: Object.fromEntries(more.map((id) => [id, { enabled: true }])) }),
  }
  const violations = await page.evaluate(async (o) => {
    const { axe } = window as unknown as { axe: { run(o: RunOptions): Promise<AxeResults> } }
    const { violations } = await axe.run({ ...o, elementRef: true })
    // A target that an open menu covers in part cannot be pressed before the menu is closed.
    const menus = [...document.querySelectorAll('[role=menu]')]
    const covered = (element: HTMLElement) => {
      const box = element.getBoundingClientRect()
      return menus.some((menu) => {
        const { left, right, top, bottom } = menu.getBoundingClientRect()
        const apart = box.right <= left || box.left >= right || box.bottom <= top || box.top >= bottom
        return !menu.contains(element) && !apart
      })
    }
    return violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes
        .filter((n) => id !== 'target-size' || !n.element || !covered(n.element))
        .map(({ html, failureSummary }) => ({ html, failureSummary })),
    }))
  }, options)
  return violations.flatMap((v) =>
    v.nodes
      .filter((n) => !exceptions.some(({ rule, element }) => rule === v.id && element.test(n.html)))
      .map((n) => `${v.id}: ${n.html.slice(0, 160)} (${n.failureSummary?.split('\n')[1]?.trim()})`),
  )
}
