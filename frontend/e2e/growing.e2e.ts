// A growing message looks at every step as if its text had arrived at once.
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from './rig/browser.ts'
import { renderingPage } from './rig/rendering.ts'

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await Browser.start()
  page = await renderingPage(browser)
})
afterAll(() => browser.stop())

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

  // With a stopped clock the renderer never runs out of time, so that a slow machine does not delay the rows.
  beforeAll(() => page.evaluate(() => void (performance.now = () => 0)))

  /**
   * The rendered result after these texts were shown one after the other. With `grows` the last is not complete.
   */
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

  test('looks the same for any steps in which it grew', () =>
    fc.assert(
      fc.asyncProperty(text, cuts, async (t, at) => {
        expect(await shown([...upTo(t, at), t])).toBe(await shown([t]))
      }),
      { numRuns: 60 },
    ))

  test('that is long looks the same for any steps in which it grew', async () => {
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

  test('looks like its current text, whether a longer, a shorter or a different text was shown before', () =>
    fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), text, cuts, async (others, t, at) => {
        const steps = others.flatMap((other) => [...upTo(other, at), other, t + '\n\n' + other])
        expect(await shown([...steps, t])).toBe(await shown([t]))
      }),
      { numRuns: 40 },
    ))

  test('that was complete and grows again looks like the whole', () =>
    fc.assert(
      fc.asyncProperty(text, cuts, async (t, at) => {
        expect(await shown([...upTo(t, at), t], true)).toBe(await shown([t]))
      }),
      { numRuns: 40 },
    ))

  test('looks at every step as if it was rendered from the start, except for invisible spaces', () => {
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

  test('keeps the DOM nodes of its unchanged parts', async () => {
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

  test('whose earlier parts are not in the page changes only the text node that grows', async () => {
    const changed = await page.evaluate(() => {
      const element = document.createElement('div')
      const renderer = new rendering.Renderer(element)
      let text = 'A paragraph.\n\n'.repeat(1_500) + 'And words'
      renderer.update(text, true)
      const watch = new MutationObserver(() => {})
      watch.observe(element, { subtree: true, childList: true, attributes: true, characterData: true })
      for (const more of [' come', ' and', ' come']) renderer.update((text += more), true)
      return {
        cut: element.querySelector('button')!.textContent!.includes('earlier parts'),
        at: watch.takeRecords().map(({ type, target }) => `${type} ${target.textContent}`),
      }
    })
    const line = 'characterData And words come and come'
    expect(changed).toEqual({ cut: true, at: [line, line, line] })
  })

  test('that is complete is rendered once, however often it is shown', async () => {
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
