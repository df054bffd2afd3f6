// The built catalogue page, served under the hub's content security policy, in each size and theme. The dark views
// have their words in a pseudo-language, so that one look checks both.
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { preview, type Preview } from '../../dev/preview.mjs'
import { barriers, ofColours } from './axe.ts'
import { Browser, desktop, phone } from './browser.ts'
import { leavings } from './leavings.ts'

const picture = resolve(import.meta.dirname, '../../public/icons/apple-180.png')
const sizes = [
  { name: 'phone', of: phone },
  { name: 'desktop', of: desktop },
]
const themes = ['light', 'dark'] as const

export interface CatalogueOptions {
  /** Runs every axe rule in the dark theme too, and loads the page anew for each state. */
  whole: boolean
  /** Shows the app's own words in the dark theme, too. */
  plain?: boolean
}

type Mode = 'production' | 'pseudo'

/** The folders of the pages built in this process. A build takes nine seconds of processor time. */
const folders = new Map<Mode, Promise<string>>()

/** Builds the catalogue page and returns its folder. The mode "pseudo" replaces its words with a pseudo-language. */
export function builtCatalogue(mode: Mode = 'production'): Promise<string> {
  const folder = folders.get(mode) ?? buildCatalogue(mode)
  folders.set(mode, folder)
  return folder
}

async function buildCatalogue(mode: Mode): Promise<string> {
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

/** A browser with one view of the catalogue page for each size and theme. */
export class Catalogue {
  readonly views: View[] = []

  private constructor(
    private readonly sites: Preview[],
    private readonly browser: Browser,
  ) {}

  static async start({ whole, plain }: CatalogueOptions): Promise<Catalogue> {
    const folders = {
      light: await builtCatalogue(),
      dark: await builtCatalogue(plain ? 'production' : 'pseudo'),
    }
    const catalogue = new Catalogue([], await Browser.start())
    // Sequential: if two windows open at once, both waits may return the same page.
    for (const size of sizes) {
      for (const theme of themes) {
        // Each view has its own origin, so that they do not share localStorage and databases.
        const site = await preview({ root: folders[theme] })
        catalogue.sites.push(site)
        catalogue.views.push(await View.open(catalogue.browser, site.url, size, theme, whole))
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

/** A page with a fixed size and theme: a page that changes them would still be animating when it is checked. */
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
    // The mock hub does not have the blobs that the states refer to.
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

  /** The accessibility violations that last. */
  barriers(rules = this.rules): Promise<string[]> {
    return barriers(this.page, rules)
  }
}
