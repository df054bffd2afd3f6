// The layout of rendered Markdown, which needs a real browser.
import { Marked } from 'marked'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, phone } from './rig/browser.ts'
import { renderingPage, show } from './rig/rendering.ts'
import { until } from './rig/until.ts'

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await Browser.start()
  page = await renderingPage(browser)
})
afterAll(() => browser.stop())

const lines = (count: number, line: string) => Array(count).fill(line).join('\n')

describe('harmless markdown is rendered as by the parser alone', () => {
  /** HTML without the app's additions to links, checkboxes, tables and code blocks; by default that of the page. */
  const bare = (html: string | null) =>
    page.evaluate((given) => {
      const element = document.createElement('div')
      const parts = [...document.querySelectorAll('main > div')]
      element.innerHTML = given ?? parts.map((part) => part.innerHTML).join('')
      for (const button of element.querySelectorAll('.copycode')) button.remove()
      for (const region of element.querySelectorAll('[role=region]')) region.replaceWith(...region.childNodes)
      const added = ['rel', 'target', 'title', 'tabindex', 'aria-label', 'aria-level', 'disabled', 'type']
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
    await show(page, markdown)
    const plain = new Marked({ gfm: true }).parse(markdown, { async: false })
    expect(await bare(null)).toBe(await bare(plain))
  })
})

test('the cells of a table are aligned as its columns', async () => {
  await show(page, '| a | b | c | d |\n|:--|--:|:-:|---|\n| 1 | 2 | 3 | 4 |')
  for (const cells of ['th', 'td']) {
    const where = await page
      .locator(cells)
      .evaluateAll((all) => all.map((cell) => getComputedStyle(cell).textAlign.replace('-webkit-', '')))
    expect(where, cells).toEqual(['left', 'right', 'center', 'start'])
  }
})

describe('at the width of a phone', () => {
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth)

  test('a table keeps its words whole and scrolls in a region with the name of its columns', async () => {
    const cells = ['Version', 'Architecture', 'Responsibility', 'Documentation', 'Deprecated']
    await show(page, `| ${cells.join(' | ')} |\n|${'---|'.repeat(5)}\n| ${cells.join(' | ')} |`)
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
    ['quotes', `${'> '.repeat(30)}deep down`],
    ['lists', Array.from({ length: 30 }, (_, i) => `${'  '.repeat(i)}- deep ${i}`).join('\n')],
  ])('%s within each other leave room to be read', async (_, markdown) => {
    await show(page, markdown)
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

test('of a table of very many rows the first are rendered, and all after a click', async () => {
  await show(page, '|a|b|\n|-|-|\n' + '|x|y|\n'.repeat(5_000))
  expect(await page.locator('main tr').count()).toBe(301)
  await page.getByRole('button', { name: 'Show all 5000 rows' }).click()
  await until('all rows', async () => (await page.locator('main tr').count()) === 5_001)
  expect(await page.locator('main button').count()).toBe(0)
})

test('a block nested too deep is shown as source, and of a long one the first part', async () => {
  await show(page, `${'> '.repeat(2_000)}deep`)
  expect(await page.locator('main').innerText()).toMatch(/^(> ){2000}deep\s*$/)
  const items = lines(5_000, '- item')
  await show(page, items)
  expect((await page.locator('main .source').innerText()).length).toBeLessThan(21_000)
  await page.getByRole('button', { name: 'Show all 35 KB' }).click()
  expect((await page.locator('main .source').textContent())!).toBe(items)
})

describe('a message of very many small blocks', () => {
  const kinds: Record<string, (at: number) => string> = {
    links: (at) => `[${at}](https://e.invalid/${at})`,
    headings: (at) => `# Heading ${at}`,
    tables: (at) => `|a|b|\n|-|-|\n|${at}|y|`,
  }

  test.each(Object.entries(kinds))(
    'keeps the page small and fast while it grows, and can be shown whole: %s',
    async (_, kind) => {
      const text = Array.from({ length: 20_000 }, (_, at) => `${kind(at)}\n\n`).join('')
      const grown = await page.evaluate(async (text) => {
        const main = document.querySelector('main')!
        main.replaceChildren()
        const renderer = new rendering.Renderer(main)
        let nodes = 0
        const steps: number[] = []
        let last = performance.now()
        const step = text.length / 100
        for (let to = step; to <= text.length; to += step) {
          renderer.update(text.slice(0, to), true)
          await new Promise((done) => requestAnimationFrame(done))
          nodes = Math.max(nodes, main.querySelectorAll('*').length)
          steps.push(performance.now() - last)
          last = performance.now()
        }
        renderer.update(text, false)
        // The usual one of the longest texts: on a busy machine a single step may be late.
        const late = steps.slice(-9).sort((a, b) => a - b)[4]!
        return { nodes, late }
      }, text)
      expect(grown.nodes).toBeLessThan(1_200)
      // Measured by make soak, on its own: without a bound on the work a step took seconds.
      if (process.env['ABIDE_SOAK'] !== undefined) expect(grown.late).toBeLessThan(1_000)
      const main = page.locator('main')
      await until('the end', async () => (await main.innerText()).includes('19999'))
      expect(await page.locator('main *').count()).toBeLessThan(1_200)

      const blocks = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('main > div > *')].map((block) =>
            Number(/\d+/.exec(block.textContent!)![0]),
          ),
        )
      const button = page.getByRole('button', { name: /^Show more of \d+ earlier parts$/ })
      for (let press = 0; press < 3; press++) {
        const before = (await blocks())[0]!
        expect(await button.innerText()).toBe(`Show more of ${before} earlier parts`)
        await button.click()
        await until('earlier parts', async () => (await blocks())[0]! < before)
      }
      const shown = await blocks()
      expect(shown).toEqual(shown.map((_, at) => 20_000 - shown.length + at))
    },
  )

  test('can be shown from its very start, which then has the focus', async () => {
    await show(page, Array.from({ length: 1_500 }, (_, at) => `Paragraph ${at}.\n\n`).join(''))
    const button = page.locator('main button')
    await until('the beginning', async () => {
      if ((await button.count()) > 0) await button.click()
      return (await button.count()) === 0
    })
    await until('all of it', async () => (await page.locator('main p').count()) === 1_500)
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Paragraph 0.')
  })
})
