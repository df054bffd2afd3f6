// A page with only the app's Markdown renderer, to test it with a real browser's parser and layout.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { words } from '../../dev/words.mjs'
import type { Renderer } from '../../src/markdown/render.ts'
import type { sanitise } from '../../src/markdown/sanitise.ts'
import { phone, type Browser } from './browser.ts'

declare global {
  const rendering: { Renderer: typeof Renderer; sanitise: typeof sanitise }
}

const src = resolve(import.meta.dirname, '../../src')

/** Opens an empty page of a phone's size whose global `rendering` is the app's Markdown renderer. */
export async function renderingPage(browser: Browser): Promise<Page> {
  const built = (await build({
    configFile: false,
    plugins: [words()],
    logLevel: 'error',
    build: {
      write: false,
      lib: { entry: join(import.meta.dirname, 'rendered.ts'), name: 'rendering', formats: ['iife'] },
    },
  })) as Rolldown.RolldownOutput[]
  const page = await browser.window(phone)
  await page.setContent('<!doctype html><main class="prose"></main>')
  for (const css of ['theme.css', 'looks.css', 'prose.css']) {
    await page.addStyleTag({ content: readFileSync(join(src, 'ui', css), 'utf8') })
  }
  await page.addStyleTag({ content: 'html, body { display: block; height: auto; overflow: auto }' })
  await page.addScriptTag({ content: built[0]!.output[0].code })
  return page
}

/** Renders a message in the page. */
export function show(page: Page, markdown: string): Promise<void> {
  return page.evaluate((text) => {
    const main = document.querySelector('main')!
    main.replaceChildren()
    new rendering.Renderer(main).update(text, false)
  }, markdown)
}
