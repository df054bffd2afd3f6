import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)
const source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose answer depends on the theme: by the second of two themes, no other can find anything new. */
export const ofColours = ['color-contrast', 'link-in-text-block']

/** Rules that axe leaves out by itself, and that are asked: target-size is of WCAG 2.2, level AA. */
const more = ['target-size']

/** Findings where a rule is wrong for this app: the rule, and the element it is wrong for. */
const exceptions = [
  // WCAG exempts a target whose size the line height of other text bounds; the rule cannot know that the numbers
  // of a diff stand beside lines of code.
  { rule: 'target-size', element: /^<button class="to [^>]*aria-label="Line / },
]

/** The accessibility problems of the page, by all rules or those given: rule, and where. */
export async function barriers(page: Page, rules?: string[]): Promise<string[]> {
  // Half a megabyte: once a page.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source)
  const options: RunOptions = {
    resultTypes: ['violations'],
    selectors: false,
    ...(rules
      ? { runOnly: { type: 'rule', values: rules } }
      : { rules: Object.fromEntries(more.map((id) => [id, { enabled: true }])) }),
  }
  const results = await page.evaluate(
    (o) => (window as unknown as { axe: { run(o: RunOptions): Promise<AxeResults> } }).axe.run(o),
    options,
  )
  return results.violations.flatMap((v) =>
    v.nodes
      .filter((n) => !exceptions.some(({ rule, element }) => rule === v.id && element.test(n.html)))
      .map((n) => `${v.id}: ${n.html.slice(0, 160)} (${n.failureSummary?.split('\n')[1]?.trim()})`),
  )
}
