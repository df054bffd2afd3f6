// Looks at every state of every screen under the hub's own policy, at two sizes
// in two themes. By light every rule is asked; by dark, which differs in its colours
// alone, those of colours, and states follow each other in one page. With ABIDE_SOAK
// every rule is asked by dark too, and each state has a page of its own. ABIDE_SHOTS
// names a folder for pictures.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { states } from '../dev/catalogue/states.ts'
import { preview, type Preview } from '../dev/preview.mjs'
import { barriers } from './rig/axe.ts'
import { Browser, desktop, phone } from './rig/browser.ts'

const soak = process.env['ABIDE_SOAK'] !== undefined
const shots = process.env['ABIDE_SHOTS']
const only = process.env['ABIDE_STATES']
/** The rules whose answer depends on the theme. */
const ofColours = ['color-contrast', 'link-in-text-block']
const wanted = only ? states.filter((s) => s.name.includes(only)) : states

const picture = resolve(import.meta.dirname, '../public/icons/apple-180.png')
const sizes = [
  { name: 'phone', of: phone },
  { name: 'desktop', of: desktop },
]
const themes = ['light', 'dark'] as const

/** A page of one size and one theme: what is looked at must not be on its way from another. */
class View {
  readonly errors: string[] = []

  private constructor(
    readonly page: Page,
    readonly name: string,
    private readonly url: string,
    private readonly rules: string[] | undefined,
  ) {
    page.on('console', (m) => m.type() === 'error' && this.errors.push(`${m.text()} ${m.location().url}`))
    page.on('pageerror', (e) => this.errors.push(String(e)))
  }

  static async open(
    browser: Browser,
    url: string,
    size: (typeof sizes)[number],
    colorScheme: (typeof themes)[number],
  ): Promise<View> {
    const page = await browser.window(size.of)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // No hub keeps the pictures the states speak of.
    await page.route('**/blobs/*', (route) => route.fulfill({ path: picture, contentType: 'image/png' }))
    const rules = colorScheme === 'light' || soak ? undefined : ofColours
    return new View(page, `${size.name}-${colorScheme}`, url, rules)
  }

  async show(state: string): Promise<void> {
    this.errors.length = 0
    if (soak || !this.page.url().startsWith(this.url)) {
      await this.page.goto(`${this.url}/catalogue.html?state=${encodeURIComponent(state)}`)
    } else {
      await this.page.evaluate(
        (name) => (window as unknown as { showState(name: string): Promise<void> }).showState(name),
        state,
      )
    }
    await this.page.waitForFunction((name) => document.documentElement.dataset['shown'] === name, state)
    await this.page.waitForFunction(() => !document.querySelector('.prose.plain'))
  }

  barriers(): Promise<string[]> {
    return barriers(this.page, this.rules)
  }
}

describe('every state of the catalogue is shown without error and free of serious barriers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'abide-catalogue-'))
  let site: Preview
  let browser: Browser
  const views: View[] = []

  beforeAll(async () => {
    if (shots) mkdirSync(shots, { recursive: true })
    const root = resolve(import.meta.dirname, '..')
    await build({
      root,
      configFile: join(root, 'vite.config.ts'),
      logLevel: 'error',
      build: {
        outDir: folder,
        rolldownOptions: { input: ['index.html', 'catalogue.html'].map((p) => join(root, p)) },
      },
    })
    site = await preview({ root: folder })
    browser = await Browser.start()
    // One after the other: two windows opened at once would be taken for one.
    for (const size of sizes)
      for (const theme of themes) views.push(await View.open(browser, site.url, size, theme))
    expect(new Set(views.map((v) => v.page)).size).toBe(views.length)
  }, 120_000)
  afterAll(async () => {
    await browser.stop()
    await site.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(wanted.map((s) => s.name))('%s', async (name) => {
    for (const view of views) {
      await view.show(name)
      // What a state loads of its own accord may come a moment later: a colour on its way is no state.
      await expect.poll(() => view.barriers(), { message: view.name, timeout: 3000 }).toEqual([])
      if (shots)
        await view.page.screenshot({ path: join(shots, `${name.replace(/\W+/g, '-')}-${view.name}.png`) })
      expect(view.errors, view.name).toEqual([])
    }
  })
})
