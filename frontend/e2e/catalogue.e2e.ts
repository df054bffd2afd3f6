// Looks at every state of every screen under the hub's own policy, at two sizes
// in two themes. By light every rule is asked; by dark, which differs in its colours
// alone, those of colours, and with ABIDE_SOAK every rule again. ABIDE_SHOTS names a
// folder for pictures.
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

const shots = process.env['ABIDE_SHOTS']
const only = process.env['ABIDE_STATES']
/** The rules whose answer depends on the theme. */
const ofColours = ['color-contrast', 'link-in-text-block']
const wanted = only ? states.filter((s) => s.name.includes(only)) : states

describe('every state of the catalogue is shown without error and free of serious barriers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'abide-catalogue-'))
  let site: Preview
  let browser: Browser
  let page: Page
  let errors: string[] = []

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
    page = await browser.window(phone)
    page.on('console', (m) => m.type() === 'error' && errors.push(m.text()))
    page.on('pageerror', (e) => errors.push(String(e)))
  }, 120_000)
  afterAll(async () => {
    await browser.stop()
    await site.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(wanted.map((s) => s.name))('%s', async (name) => {
    errors = []
    for (const [place, size] of [['phone', phone] as const, ['desktop', desktop] as const]) {
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await page.goto(`${site.url}/catalogue.html?state=${encodeURIComponent(name)}`)
      await page.waitForFunction((n) => document.documentElement.dataset['shown'] === n, name)
      await page.waitForFunction(() => !document.querySelector('.prose.plain'))
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        const rules = colorScheme === 'light' || process.env['ABIDE_SOAK'] ? undefined : ofColours
        expect(await barriers(page, rules), `${place}, ${colorScheme}`).toEqual([])
        if (shots)
          await page.screenshot({
            path: join(shots, `${name.replace(/\W+/g, '-')}-${place}-${colorScheme}.png`),
          })
      }
    }
    expect(errors).toEqual([])
  })
})
