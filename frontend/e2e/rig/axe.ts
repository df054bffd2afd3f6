import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const require = createRequire(import.meta.url)
const source = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** The rules whose answer depends on the theme: by the second of two themes, no other can find anything new. */
export const ofColours = ['color-contrast', 'link-in-text-block']

/** Less than serious, and asked all the same: going by headings or landmarks misses nothing. */
const asked = ['heading-order', 'landmark-banner-is-top-level']

/**
 * The rules whose findings are never asked for, as all that a rule finds weighs what the rule does: left
 * out, a page costs a third less. The rules' weights are told by no public part of axe.
 */
const lesser = (require('axe-core') as { _audit: { rules: { id: string; impact?: string }[] } })._audit.rules
  .filter((rule) => ['minor', 'moderate'].includes(rule.impact ?? '') && !asked.includes(rule.id))
  .map((rule) => rule.id)

/**
 * The accessibility problems of the page, worst kinds and those asked, by all rules or those given:
 * rule, and where.
 */
export async function barriers(page: Page, rules?: string[]): Promise<string[]> {
  // Half a megabyte: once a page.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source)
  const options: RunOptions = {
    resultTypes: ['violations'],
    selectors: false,
    ...(rules
      ? { runOnly: { type: 'rule', values: rules } }
      : { rules: Object.fromEntries(lesser.map((id) => [id, { enabled: false }])) }),
  }
  const results = await page.evaluate(
    (o) => (window as unknown as { axe: { run(o: RunOptions): Promise<AxeResults> } }).axe.run(o),
    options,
  )
  return results.violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical' || asked.includes(v.id))
    .flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} (${n.failureSummary?.split('\n')[1]?.trim()})`),
    )
}
