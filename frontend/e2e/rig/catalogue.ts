// The catalogue as it is built for the hub's policy, looked at in each size and theme.
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { preview, type Preview } from '../../dev/preview.mjs'
import { barriers, ofColours } from './axe.ts'
import { Browser, desktop, phone } from './browser.ts'
import { leavings } from './leavings.ts'
import { elapse } from './until.ts'

const picture = resolve(import.meta.dirname, '../../public/icons/apple-180.png')
const sizes = [
  { name: 'phone', of: phone },
  { name: 'desktop', of: desktop },
]
const themes = ['light', 'dark'] as const

export interface CatalogueOptions {
  /** Asks every rule by dark too, and shows each state in a page of its own. */
  whole: boolean
}

/** Builds the catalogue, and returns its folder. In the mode "pseudo" its words are in a pseudo-language. */
export async function builtCatalogue(mode = 'production'): Promise<string> {
  const folder = leavings.folder('abide-catalogue-')
  const root = resolve(import.meta.dirname, '../..')
  await build({
    root,
    mode,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    build: {
      outDir: folder,
      rolldownOptions: { input: ['index.html', 'catalogue.html'].map((p) => join(root, p)) },
    },
  })
  return folder
}

/** A browser with one view of the catalogue for each size and theme. */
export class Catalogue {
  readonly views: View[] = []

  private constructor(
    private readonly sites: Preview[],
    private readonly browser: Browser,
  ) {}

  static async start(options: CatalogueOptions): Promise<Catalogue> {
    const folder = await builtCatalogue()
    const catalogue = new Catalogue([], await Browser.start())
    // One after the other: two windows opened at once would be taken for one.
    for (const size of sizes) {
      for (const theme of themes) {
        // An origin of its own each: a view's data on the device does not affect the others.
        const site = await preview({ root: folder })
        catalogue.sites.push(site)
        catalogue.views.push(await View.open(catalogue.browser, site.url, size, theme, options.whole))
      }
    }
    const pages = new Set(catalogue.views.map((v) => v.page))
    if (pages.size !== catalogue.views.length) throw new Error('two views of the catalogue share a page')
    return catalogue
  }

  async stop(): Promise<void> {
    await this.browser.stop()
    for (const site of this.sites) await site.stop()
  }
}

/** A page of one size and one theme: a view must not still be changing from another. */
export class View {
  readonly errors: string[] = []

  private constructor(
    readonly page: Page,
    readonly name: string,
    private readonly url: string,
    private readonly whole: boolean,
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
    whole: boolean,
  ): Promise<View> {
    const page = await browser.window(size.of)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // No hub keeps the pictures the states speak of.
    await page.route('**/blobs/*', (route) => route.fulfill({ path: picture, contentType: 'image/png' }))
    const rules = colorScheme === 'light' || whole ? undefined : ofColours
    return new View(page, `${size.name}-${colorScheme}`, url, whole, rules)
  }

  async show(state: string): Promise<void> {
    this.errors.length = 0
    if (this.whole || !this.page.url().startsWith(this.url)) {
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

  /**
   * What keeps somebody from using the state, and lasts: what a state loads of its own accord may come a
   * moment later, and a colour on its way is no state.
   */
  async barriers(): Promise<string[]> {
    const deadline = Date.now() + 20_000
    for (;;) {
      const found = await barriers(this.page, this.rules)
      if (found.length === 0 || Date.now() > deadline) return found
      await elapse(50)
    }
  }
}
