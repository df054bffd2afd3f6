// What the sanitiser leaves of markdown, and how it is laid out: in a real browser, whose
// parser and whose boxes nothing else has.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { Marked } from 'marked'
import type { Page } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Renderer, sanitise } from '../src/markdown/render.ts'
import { Browser, phone } from './rig/browser.ts'
import { until } from './rig/until.ts'

declare const rendering: { Renderer: typeof Renderer; sanitise: typeof sanitise }

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

const lines = (count: number, line: string) => Array(count).fill(line).join('\n')

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
      const parts = [...document.querySelectorAll('main > div')]
      element.innerHTML = given ?? parts.map((part) => part.innerHTML).join('')
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
    ['quotes', `${'> '.repeat(30)}deep down`],
    ['lists', Array.from({ length: 30 }, (_, i) => `${'  '.repeat(i)}- deep ${i}`).join('\n')],
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

test('a table of very many rows is in the page by its first, and by all of them once asked for', async () => {
  await show('|a|b|\n|-|-|\n' + '|x|y|\n'.repeat(5_000))
  expect(await page.locator('main tr').count()).toBe(301)
  await page.getByRole('button', { name: 'Show all 5000 rows' }).click()
  await until('all rows', async () => (await page.locator('main tr').count()) === 5_001)
  expect(await page.locator('main button').count()).toBe(0)
})

test('what is nested too deep is shown as it was written, and of what is long the first part', async () => {
  await show(`${'> '.repeat(2_000)}deep`)
  expect(await page.locator('main').innerText()).toMatch(/^(> ){2000}deep\s*$/)
  const items = lines(5_000, '- item')
  await show(items)
  expect((await page.locator('main .source').innerText()).length).toBeLessThan(21_000)
  await page.getByRole('button', { name: 'Show all 35 KB' }).click()
  expect((await page.locator('main .source').textContent())!).toBe(items)
})

test('a link that looks as if it went elsewhere says where it goes; no other does', async () => {
  await show('[https://bank.com](https://evil.example) and [docs](https://docs.example)')
  expect(await page.locator('main').innerText()).toBe('https://bank.com (evil.example) and docs')
})

describe('a message of very many small blocks', () => {
  const kinds: Record<string, (at: number) => string> = {
    links: (at) => `[${at}](https://e.invalid/${at})`,
    headings: (at) => `# Heading ${at}`,
    tables: (at) => `|a|b|\n|-|-|\n|${at}|y|`,
  }

  test.each(Object.entries(kinds))(
    'keeps the page small and quick while it grows, and all of it is there to ask for: %s',
    async (_, kind) => {
      const text = Array.from({ length: 20_000 }, (_, at) => `${kind(at)}\n\n`).join('')
      const grown = await page.evaluate(async (text) => {
        const main = document.querySelector('main')!
        main.replaceChildren()
        const renderer = new rendering.Renderer(main)
        let nodes = 0
        let longest = 0
        let last = performance.now()
        const step = text.length / 100
        for (let to = step; to <= text.length; to += step) {
          renderer.update(text.slice(0, to), true)
          await new Promise((done) => requestAnimationFrame(done))
          nodes = Math.max(nodes, main.querySelectorAll('*').length)
          longest = Math.max(longest, performance.now() - last)
          last = performance.now()
        }
        renderer.update(text, false)
        return { nodes, longest }
      }, text)
      expect(grown.nodes).toBeLessThan(1_200)
      // A slow machine must pass, and what was seen without a bound were seconds.
      expect(grown.longest).toBeLessThan(1_000)
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

  test('opens to its very beginning, which then has the focus', async () => {
    await show(Array.from({ length: 1_500 }, (_, at) => `Paragraph ${at}.\n\n`).join(''))
    const button = page.locator('main button')
    await until('the beginning', async () => {
      if ((await button.count()) > 0) await button.click()
      return (await button.count()) === 0
    })
    await until('all of it', async () => (await page.locator('main p').count()) === 1_500)
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Paragraph 0.')
  })
})

// The parser lets no HTML through. This is what stands should it ever be talked into some.
describe('of HTML that reaches the sanitiser', () => {
  const corpus = JSON.parse(
    readFileSync(join(import.meta.dirname, 'rig/hostile/corpus.json'), 'utf8'),
  ) as string[]
  const more = [
    '<p>first</p><script>ran.push(1)</script>',
    '<img src=x onerror="ran.push(2)"><svg onload="ran.push(3)"></svg>',
    '<a href="javascript:ran.push(4)">a</a><a href="data:text/html,x">b</a><a href="/api/pair">c</a>',
    '<form action="https://evil.invalid"><input name="q" type="text" value="x" onfocus="ran.push(5)" autofocus></form>',
    '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror=ran.push(6)>">',
    '<p id="app" name="app" data-outbox="x" aria-label="Allow" style="position:fixed" class="sheet hljs">over</p>',
    '<iframe srcdoc="<script>parent.ran.push(7)</script>"></iframe><object data="https://evil.invalid"></object>',
  ]
  const tags =
    'A BLOCKQUOTE BR CODE DEL DIV EM H1 H2 H3 H4 H5 H6 HR INPUT LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL'
  const attributes = 'align aria-label checked class disabled href rel role start tabindex target title type'

  test('nothing is left but the elements, attributes and addresses that markdown has, and nothing runs', async () => {
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(request.url())
    page.on('request', note)
    const { left, foreign, ran } = await page.evaluate(
      async ({ htmls, tags, attributes }) => {
        const ran: number[] = []
        Object.assign(window, { ran })
        const main = document.querySelector('main')!
        const foreign: string[] = []
        let left = 0
        for (const html of htmls) {
          main.replaceChildren(rendering.sanitise(html))
          for (const element of main.querySelectorAll('*')) {
            left++
            if (!tags.includes(element.nodeName)) foreign.push(`${element.nodeName} of ${html}`)
            if (element.nodeName === 'INPUT' && element.getAttribute('type') !== 'checkbox')
              foreign.push(html)
            for (const { name, value } of element.attributes) {
              const known =
                attributes.includes(name) && (name !== 'href' || /^(https?:|mailto:)/i.test(value))
              if (!known) foreign.push(`${name}=${value} of ${html}`)
              if (name === 'class' && !/^(host|table|language-.*|hljs.*)$/.test(value))
                foreign.push(`class of ${html}`)
            }
          }
        }
        // What would run by a failed load runs after it.
        await new Promise((resolve) => setTimeout(resolve, 100))
        return { left, foreign, ran }
      },
      { htmls: [...corpus, ...more], tags: tags.split(' '), attributes: attributes.split(' ') },
    )
    page.off('request', note)
    expect(foreign).toEqual([])
    expect(ran).toEqual([])
    expect(asked).toEqual([])
    expect(left, 'and something was there to judge').toBeGreaterThan(10)
  })

  test('the first element stays, and so does every other that markdown has', async () => {
    const html = '<h2>one</h2><p>two <strong>three</strong></p><ul><li>four</li></ul>'
    expect(
      await page.evaluate((given) => {
        const box = document.createElement('div')
        box.append(rendering.sanitise(given))
        return box.innerHTML
      }, html),
    ).toBe(html)
  })
})

describe('a message', () => {
  const line = fc.constantFrom(
    ...[
      '',
      '',
      '',
      'Some *text*',
      '# Heading',
      '---',
      '- item',
      '1. one',
      '  indented',
      '    code',
      '> quote',
    ],
    ...[
      '```js',
      '```',
      '~~~',
      '~~~~',
      'let a = `b`',
      '| a | b |',
      '|---|---|',
      '| 1 | 2 |',
      '[ref]',
      '**bold',
    ],
    ...['5. five', '7) seven', '|--:|:-:|', '- [x] done'],
    ...['[ref]: http://r.example', '<b>raw</b>', '- [ ] todo', 'over** lines\r', '', '12', '13'],
  )
  const text = fc.array(line, { maxLength: 16 }).map((lines) => lines.join('\n'))
  const cuts = fc.array(fc.nat(200), { maxLength: 10 })
  const upTo = (t: string, at: readonly number[]) =>
    at
      .map((c) => c % (t.length + 1))
      .sort((a, b) => a - b)
      .map((c) => t.slice(0, c))

  // A slow machine must not make the renderer put off what the test looks at.
  beforeAll(() => page.evaluate(() => void (performance.now = () => 0)))

  /** What is shown in the end of texts that came one after the other; the last is all of it unless it `grows`. */
  const shown = (steps: readonly string[], grows = false) =>
    page.evaluate(
      ({ steps, grows }) => {
        const element = document.createElement('div')
        const renderer = new rendering.Renderer(element)
        for (const [i, step] of steps.entries()) renderer.update(step, grows || i < steps.length - 1)
        if (grows) renderer.update(steps.at(-1)!, false)
        renderer.stop()
        return element.innerHTML
      },
      { steps, grows },
    )

  test('looks the same however it grew', () =>
    fc.assert(
      fc.asyncProperty(text, cuts, async (t, at) => {
        expect(await shown([...upTo(t, at), t])).toBe(await shown([t]))
      }),
      { numRuns: 60 },
    ))

  test('that is long looks the same however it grew', async () => {
    const line = fc.constantFrom(
      'word',
      '## Heading',
      '|a|b|\n|-|-|\n|x|y|',
      '#### Deep',
      '- one\n- two',
      '`c` *d*',
    )
    const times = fc.constantFrom(1, 20, 150, 400)
    const long = fc
      .array(fc.tuple(line, times), { minLength: 3, maxLength: 8 })
      .map((runs) => runs.map(([line, times]) => `${line}\n\n`.repeat(times)).join(''))
    let cut = 0
    await fc.assert(
      fc.asyncProperty(long, fc.array(fc.nat(20_000), { maxLength: 5 }), async (t, at) => {
        const once = await shown([t])
        if (once.includes('earlier parts')) cut++
        expect((await shown([...upTo(t, at), t])) === once).toBe(true)
      }),
      { numRuns: 40 },
    )
    expect(cut, 'and some were cut').toBeGreaterThan(5)
  })

  test('looks as it is now, whatever was shown before: longer, shorter, another, with more before it', () =>
    fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), text, cuts, async (others, t, at) => {
        const steps = others.flatMap((other) => [...upTo(other, at), other, t + '\n\n' + other])
        expect(await shown([...steps, t])).toBe(await shown([t]))
      }),
      { numRuns: 40 },
    ))

  test('that ended and goes on after all looks like the whole', () =>
    fc.assert(
      fc.asyncProperty(text, cuts, async (t, at) => {
        expect(await shown([...upTo(t, at), t], true)).toBe(await shown([t]))
      }),
      { numRuns: 40 },
    ))

  test('looks at every step as if it had begun there, but for spaces that nobody sees', () => {
    const word = fc.constantFrom(
      ...[
        'a',
        'word',
        'more',
        'two.',
        'that:',
        '1.',
        '2)',
        'www',
        '.x.org',
        'http',
        '://',
        'me',
        '@x.org',
        '&amp',
        ';',
      ],
      ...[
        '*',
        '**',
        '_',
        '`',
        '~~',
        '[',
        ']',
        '(',
        ')',
        '(http://y',
        '!',
        '<b',
        '>',
        '\\',
        '|',
        '-',
        '=',
        '#',
        '"t"',
        ':',
      ],
      ...[
        ' ',
        ' ',
        ' ',
        ' ',
        '  ',
        '\n',
        '\n\n',
        '\n- ',
        '\n    ',
        '\n# ',
        '\n> ',
        '\n|---|\n',
        '\n```js ',
        '\n[r]: http://z',
      ],
    )
    const said = fc.array(fc.oneof(word, fc.constantFrom('some words ', 'and then ', 'of it')), {
      maxLength: 24,
    })
    return fc.assert(
      fc.asyncProperty(said, async (words) => {
        const [grown, begun] = await page.evaluate((words) => {
          const seen = (element: Element) => element.innerHTML.replaceAll(/ +(?=<|\n|$)/g, '')
          const element = document.createElement('div')
          const renderer = new rendering.Renderer(element)
          const steps = words.map((_, i) => words.slice(0, i + 1).join(''))
          const grown = steps.map((step) => {
            renderer.update(step, true)
            return seen(element)
          })
          const begun = steps.map((step) => {
            const element = document.createElement('div')
            new rendering.Renderer(element).update(step, true)
            return seen(element)
          })
          return [grown, begun]
        }, words)
        expect(grown).toEqual(begun)
      }),
      { numRuns: 400 },
    )
  })

  test('keeps the nodes of what does not change', async () => {
    const kept = await page.evaluate(() => {
      const element = document.createElement('div')
      const renderer = new rendering.Renderer(element)
      let text = 'A paragraph.\n\n'.repeat(100) + '- one `a`\n- two words'
      renderer.update(text, true)
      const before = [...element.querySelectorAll('p, ul, li, code')]
      const last = element.querySelector('li:last-child')!.firstChild
      for (const more of [' and', ' more', ' **bold**', ' on', '\n- three'])
        renderer.update((text += more), true)
      const after = [...element.querySelectorAll('p, ul, li, code')]
      const parts = [...element.children].map((part) => part.querySelectorAll('p').length)
      return {
        same: before.every((node, i) => after[i] === node),
        last: element.querySelector('li:nth-child(2)')!.firstChild === last,
        parts,
        whole: element.querySelector('ul')!.outerHTML,
      }
    })
    expect(kept).toEqual({
      same: true,
      last: true,
      parts: [32, 32, 32, 4],
      whole:
        '<ul>\n<li>one <code>a</code></li>\n<li>two words and more <strong>bold</strong> on</li>\n<li>three</li>\n</ul>',
    })
  })

  test('that ended is shown once, however often it is shown', async () => {
    expect(await shown(['One.\n\nTwo.', 'One.\n\nTwo.'])).toBe(await shown(['One.\n\nTwo.']))
    const twice = await page.evaluate(() => {
      const element = document.createElement('div')
      const renderer = new rendering.Renderer(element)
      for (const growing of [false, false, true, false]) renderer.update('One.\n\nTwo.', growing)
      return element.textContent
    })
    expect(twice?.replaceAll('\n', '')).toBe('One.Two.')
  })
})
