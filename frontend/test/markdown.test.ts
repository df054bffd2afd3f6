import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Blocks } from '../src/markdown/blocks'
import { parse } from '../src/markdown/parser'

const split = (text: string, cuts: readonly number[] = []) => {
  const blocks = new Blocks()
  for (const cut of cuts) blocks.update(text.slice(0, cut))
  blocks.update(text)
  return [...blocks.settled, blocks.tail]
}

const line = fc.constantFrom(
  ...[
    '',
    '',
    '',
    'Some *text* here',
    'more `code` text',
    '# Heading',
    'Setext',
    '===',
    '---',
    '***',
    '- item',
    '* star',
  ],
  ...[
    '1. one',
    '2. two',
    '2',
    '-',
    '  indented',
    '    code?',
    '> quote',
    '> - nested',
    '```js',
    '```',
    '~~~',
    '    ```',
  ],
  ...[
    '| a | b |',
    '|---|---|',
    '| 1 | 2 |',
    '<div>',
    '</div>',
    '<!-- x',
    '-->',
    '- [ ] todo',
    '+ plus',
    '\ttab',
    '  - sub',
  ],
  ...[
    '**bold',
    'over** lines',
    'a  ',
    '\\',
    '[x](http://y)',
    '![i](http://z/i.png)',
    '[ref]',
    '[ref]: http://r',
    '10) ten',
  ],
  ...[
    '> > deeper',
    '> ```',
    '> 1. quoted',
    '>',
    '> [q]: http://q',
    '  > in a list',
    '   - further',
    '\t- by tab',
    '````',
    '``` js title',
    '~~~ x',
    '   ```',
  ],
  ...[
    '| :-: | --- |',
    '|',
    'a | b',
    '<details><summary>s</summary>',
    '<pre>',
    '</pre>',
    '<?php',
    '  [far]:',
    '<http://s>',
    '[x]:',
    '[no] : definition',
    '   ',
    '\t',
  ],
)
const text = fc.array(line, { maxLength: 24 }).map((lines) => lines.join('\n'))

describe('blocks', () => {
  it('rendered one by one equal the whole text rendered at once', () => {
    fc.assert(
      fc.property(text, (t) => {
        expect(split(t).map(parse).join('')).toBe(parse(t))
      }),
      { numRuns: 2000 },
    )
  })

  it('use definitions in quotes and lists', () => {
    for (const t of [
      '> [q]: http://q\n\n> > deeper\n> [q]: http://q',
      '[q]\n\ntext\n\n- item\n\n  [q]: http://q',
      '[q]\n\ntext\n\n1. [q]: http://q',
      '[a\\]b]\n\ntext\n\n[a\\]b]: http://q',
    ])
      expect(split(t).map(parse).join('')).toBe(parse(t))
  })

  it('are the same however the text grew', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(400), { maxLength: 12 }), (t, cuts) => {
        const steps = cuts.map((c) => c % (t.length + 1)).sort((a, b) => a - b)
        const grown = split(t, steps)
        expect(grown.join('')).toBe(t)
        expect(grown.map(parse).join('')).toBe(parse(t))
      }),
      { numRuns: 2000 },
    )
  })

  it('are settled as soon as an empty line and another block follow', () => {
    const blocks = new Blocks()
    blocks.update('One.\n\nTwo.\n\nThree')
    expect(blocks.settled).toEqual(['One.\n\n'])
    blocks.update('One.\n\nTwo.\n\nThree\n')
    expect(blocks.settled).toEqual(['One.\n\n', 'Two.\n\n'])
  })

  it('of a text that does not continue the last one are parsed from the start', () => {
    const blocks = new Blocks()
    blocks.update('One.\n\nTwo.\n')
    expect(blocks.update('Other')).toBe(false)
    expect([blocks.settled, blocks.tail]).toEqual([[], 'Other'])
  })
})

describe('the parser', () => {
  it('takes HTML as text', () => {
    expect(parse('<img src=x onerror=alert(1)>')).not.toContain('<img')
    expect(parse('a <b>bold</b> <!-- c -->')).not.toMatch(/<b>|<!--/)
  })

  it('makes links of images', () => {
    expect(parse('![cat](https://example.com/cat.png)')).toBe(
      '<p><a href="https://example.com/cat.png">cat</a></p>\n',
    )
  })
})

it('parses a footnote as text, not as a link definition', () => {
  expect(parse('As said.[^1]\n\n[^1]: there')).toBe('<p>As said.[^1]</p>\n<p>[^1]: there</p>\n')
  expect(parse('[1]\n\n[1]: https://abide.example')).toContain('<a href="https://abide.example">')
})
