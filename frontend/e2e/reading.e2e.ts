// The accessibility trees of the list, the feed, a question and the composer, compared with the golden
// files in e2e/golden. Review a changed tree, then update it with `npm run e2e --
// e2e/reading.e2e.ts -u`.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { preview, type Preview } from '../dev/preview.mjs'
import { Browser, desktop, phone } from './rig/browser.ts'
import { builtCatalogue, View } from './rig/catalogue.ts'
import { until } from './rig/until.ts'

let site: Preview
let browser: Browser
const views: Partial<Record<string, View>> = {}
beforeAll(async () => {
  site = await preview({ root: await builtCatalogue() })
  browser = await Browser.start()
  for (const [name, of] of Object.entries({ phone, desktop })) {
    const view = (views[name] = await View.open(browser, site.url, { name, of }, 'light', false))
    await view.page.context().clearPermissions() // an earlier test file may have used this browser
  }
})
afterAll(async () => {
  await browser.stop()
  await site.stop()
})

test.each([
  ['list', 'body', 'phone'],
  ['list', 'body', 'desktop'],
  ['session, done', 'main', 'phone'],
  ['session, done', 'body', 'desktop'],
  ['question', 'main', 'phone'],
  ['question', 'main', 'desktop'],
  ['session, away, a question waits', 'main', 'phone'],
  ['draft', 'main', 'phone'],
  ['draft', 'main', 'desktop'],
])('%s, %s on a %s', async (state, part, size) => {
  const view = views[size]!
  await view.show(state)
  const { page } = view
  // Some parts load late, and options are disabled for a moment after the question appears.
  await page.waitForFunction(() => !document.querySelector('[data-option]:disabled'))
  let tree = ''
  await until('a tree that stays', async () => {
    const before = tree
    tree = await read(page, part)
    return tree === before
  })
  const name = `${state}-${part}-${size}`.replace(/\W+/g, '-')
  await expect(`${tree}\n`).toMatchFileSnapshot(`golden/${name}.yaml`)
})

/** The accessibility tree of a part of the page, with times replaced. */
async function read(page: Page, part: string): Promise<string> {
  const tree = await page.locator(part).first().ariaSnapshot()
  return tree
    .replace(/\d{1,2}:\d\d\s[AP]M/g, 'TIME')
    .replace(/\b[A-Z][a-z]{2} \d{1,2}\b/g, 'DAY')
    .replace(/(Waiting for you) [\d.]+ s/g, '$1 TIME')
    .replace(/\d+ min away/g, 'TIME away')
}
