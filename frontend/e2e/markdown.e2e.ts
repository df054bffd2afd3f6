// What the sanitiser leaves of markdown, and how it is laid out: in a real browser, whose
// parser and whose boxes nothing else has.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Marked } from 'marked'
import type { Page } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Renderer } from '../src/markdown/render.ts'
import { Browser, phone } from './rig/browser.ts'

declare const rendering: { Renderer: typeof Renderer }

const src = resolve(import.meta.dirname, '../src')
let browser: Browser
let page: Page

beforeAll(async () => {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      lib: { entry: join(src, 'markdown/render.ts'), name: 'rendering', formats: ['iife'] },
    },
  })) as Rolldown.RolldownOutput[]
  browser = await Browser.start()
  page = await browser.window(phone)
  await page.setContent('<!doctype html><main class="prose"></main>')
  for (const css of ['theme.css', 'prose.css']) {
    await page.addStyleTag({ content: readFileSync(join(src, 'ui', css), 'utf8') })
  }
  await page.addStyleTag({ content: 'html, body { display: block; height: auto; overflow: auto }' })
  await page.addScriptTag({ content: built[0]!.output[0].code })
})
afterAll(() => browser.stop())

/** Shows a message in the page. */
const show = (markdown: string) =>
  page.evaluate((text) => {
    const main = document.querySelector('main')!
    main.replaceChildren()
    new rendering.Renderer(main).update(text, false)
  }, markdown)

describe('harmless markdown is what the parser by itself makes of it', () => {
  /** HTML without what the app adds to each link, box and code block. */
  const bare = (html: string | null) =>
    page.evaluate((given) => {
      const element = document.createElement('div')
      element.innerHTML = given ?? document.querySelector('main')!.innerHTML
      for (const region of element.querySelectorAll('[role=region]')) region.replaceWith(...region.childNodes)
      const added = ['rel', 'target', 'title', 'tabindex', 'aria-label', 'disabled', 'type']
      for (const node of element.querySelectorAll('*')) for (const name of added) node.removeAttribute(name)
      return element.innerHTML.replaceAll(/>\s+</g, '><').trim()
    }, html)

  test.each([
    '5. five\n6. six',
    '0. nought\n1. one',
    '7) seven\n8) eight\n\n   more of it',
    '3. three\n   - a\n     1. deep\n     2. deeper\n   - b\n4. four',
    '10. ten\n\n    20. twenty\n    21. more\n\n11. eleven',
    '| a | b | c | d |\n|:--|--:|:-:|---|\n| 1 | 2 | 3 | 4 |\n| **x** | `y` | ~~z~~ | |',
    '- [x] done\n- [ ] to do\n  - [x] nested',
    '1. [ ] numbered\n2. [x] tasks',
    '- one\n\n- two, loose\n- three',
    '```js\nlet a = 1 < 2 && "b"\n```\n\n    indented code\n\n~~~\nplain\n~~~',
    '> quoted\n>\n> - a list\n>   > deeper\n\nafter',
    '# One\n\n## Two\n\n###### Six\n\nSetext\n===\n\n---',
    '*a* **b** ***c*** ~~d~~ `e` \\*f\\* line  \nbreak https://example.org <https://example.org/x>',
    '[a](https://example.org "title") [ref] me@example.org\n\n[ref]: http://example.org/y',
  ])('%j', async (markdown) => {
    await show(markdown)
    const plain = new Marked({ gfm: true }).parse(markdown, { async: false })
    expect(await bare(null)).toBe(await bare(plain))
  })
})

describe('at the width of a phone', () => {
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth)

  test('a table keeps its words whole and scrolls in a region with the name of its columns', async () => {
    const cells = ['Version', 'Architecture', 'Responsibility', 'Documentation', 'Deprecated']
    await show(`| ${cells.join(' | ')} |\n|${'---|'.repeat(5)}\n| ${cells.join(' | ')} |`)
    const region = page.getByRole('region', { name: `Table: ${cells.join(', ')}` })
    await region.focus()
    const seen = await region.evaluate((box) => ({
      scrolls: box.scrollWidth > box.clientWidth,
      focused: document.activeElement === box,
      lines: [...box.querySelectorAll('td')].map((td) => {
        const range = document.createRange()
        range.selectNodeContents(td)
        return range.getClientRects().length
      }),
    }))
    expect(seen).toEqual({ scrolls: true, focused: true, lines: cells.map(() => 1) })
    expect(await wide()).toBe(phone.width)
  })

  test.each([
    ['quotes', `${'> '.repeat(200)}deep down`],
    ['lists', Array.from({ length: 60 }, (_, i) => `${'  '.repeat(i)}- deep ${i}`).join('\n')],
  ])('%s within each other leave room to be read', async (_, markdown) => {
    await show(markdown)
    expect(await wide()).toBe(phone.width)
    const text = await page.evaluate(() => {
      const range = document.createRange()
      const walk = document.createTreeWalker(document.querySelector('main')!, NodeFilter.SHOW_TEXT)
      let last = walk.nextNode()!
      for (let node: Node | null = last; node; node = walk.nextNode())
        if (node.textContent?.trim()) last = node
      range.selectNodeContents(last)
      return { left: range.getBoundingClientRect().left, lines: range.getClientRects().length }
    })
    expect(text.left).toBeLessThan(phone.width / 2)
    expect(text.lines).toBe(1)
  })
})

test('a link that looks as if it went elsewhere says where it goes; no other does', async () => {
  await show('[https://bank.com](https://evil.example) and [docs](https://docs.example)')
  expect(await page.locator('main').innerText()).toBe('https://bank.com (evil.example) and docs')
})
