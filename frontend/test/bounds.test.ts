import fc from 'fast-check'
import { Lexer, Tokenizer } from 'marked'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { Blocks } from '../src/markdown/blocks'
import { parse } from '../src/markdown/parser'

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n')

/** Texts of one block that an agent could write to keep a page busy. */
const oneBlock: Record<string, string> = {
  'rows of a table': '|a|b|\n|-|-|\n' + '|x|y|\n'.repeat(20_000),
  'columns of a table': `|${'a|'.repeat(5_000)}\n|${'-|'.repeat(5_000)}\n|${'x|'.repeat(5_000)}`,
  'a long row of a table': `|a|b|\n|-|-|\n|${'*x* '.repeat(25_000)}|y|`,
  items: '- *item*\n'.repeat(20_000),
  'items apart': '- item\n\n'.repeat(10_000),
  numbers: '1. one\n'.repeat(20_000),
  'lines of a quote': '> line\n'.repeat(20_000),
  'paragraphs of a quote': '> line\n>\n'.repeat(10_000),
  links: '[a](http://b.example) '.repeat(5_000),
  notes: '[^1] '.repeat(20_000),
  stars: '*'.repeat(100_000),
  'stars before letters': '*a '.repeat(33_000),
  strokes: '_'.repeat(100_000),
  'strokes between letters': '_a'.repeat(50_000),
  brackets: '['.repeat(100_000),
  'images begun': '!['.repeat(50_000),
  'links begun': '[a]('.repeat(25_000),
  backticks: '`'.repeat(100_000),
  'backticks of every length': lines(400, (at) => '`'.repeat(at + 1)),
  'emphasis within emphasis': '*a '.repeat(3_000) + 'b*'.repeat(3_000),
  'strong within emphasis': '*a **b '.repeat(5_000),
  'a word as an address': 'a'.repeat(100_000) + '@',
  'one word': 'a'.repeat(9_000) + '@',
  'a line of addresses': 'http://a.example '.repeat(10_000),
  'lists within lists by columns': lines(300, (at) => ' '.repeat(2 * at) + '- x'),
  'quotes within quotes': '> '.repeat(2_000) + 'deep',
  'lists within lists': '- '.repeat(2_000) + 'deep',
  'numbers within numbers': '1. '.repeat(2_000) + 'deep',
  'quotes and lists within each other': '> - '.repeat(1_000) + 'deep',
}
/** Texts of many blocks that an agent could write to keep a page busy. */
const manyBlocks: Record<string, string> = {
  headings: '# *h*\n\n'.repeat(3_000),
  definitions: lines(5_000, (at) => `[r${at}]: http://x.example/${at}`),
  'uses of a definition': '[a]: http://x.example\n\n' + '[a] '.repeat(5_000),
  'a megabyte of code': '```\n' + 'abcdefghi\n'.repeat(100_000) + '```',
}

afterEach(() => vi.restoreAllMocks())

/** The work of parsing a text: the calls of the lexer for inline tokens, their characters, and the calls for blocks. */
function workOf(text: string) {
  const inline = vi.spyOn(Lexer.prototype, 'inlineTokens')
  const emphasis = vi.spyOn(Tokenizer.prototype, 'emStrong')
  const blocks = vi.spyOn(Lexer.prototype, 'blockTokens')
  const html = parse(text)
  const characters = inline.mock.calls.reduce((sum, [src]) => sum + src.length, 0)
  return {
    html,
    characters,
    runs: inline.mock.calls.length,
    marks: emphasis.mock.calls.length,
    blocks: blocks.mock.calls.length,
  }
}

const escaped = (text: string) => text.replaceAll('>', '&gt;')

describe('the cost of parsing is bounded:', () => {
  test.each(Object.entries(oneBlock))('%s', (_, text) => {
    const { characters, runs, marks, blocks } = workOf(text)
    expect(characters).toBeLessThan(20_000)
    expect(runs).toBeLessThan(1_000)
    expect(marks).toBeLessThan(2_000)
    expect(blocks).toBeLessThan(1_000)
  })

  test.each(Object.entries(manyBlocks))('%s', (_, text) => {
    const { characters, marks } = workOf(text)
    expect(characters).toBeLessThan(20_000)
    expect(marks).toBeLessThan(10_000)
  })
})

describe('a block beyond a bound is shown as its source,', () => {
  test.each(
    [
      'lines of a quote',
      'items apart',
      'quotes within quotes',
      'lists within lists',
      'numbers within numbers',
    ].map((name) => [name, oneBlock[name]!]),
  )('and the text after it is parsed: %s', (_, text) => {
    const html = parse(`Before\n\n${text}\n\nAfter *it*`)
    expect(html).toContain(`<p>Before</p>\n<p class="source">${escaped(text.trimEnd())}</p>\n`)
    expect(html).toContain('<p>After <em>it</em></p>')
  })

  it('and a block within the bounds is parsed', () => {
    expect(parse('> '.repeat(30) + '*deep*')).toContain('<em>deep</em>')
    expect(parse('- *item*\n'.repeat(499)).match(/<em>/g)).toHaveLength(499)
    expect(parse('*word* '.repeat(300)).match(/<em>/g)).toHaveLength(300)
    expect(parse('*a '.repeat(8) + 'b*'.repeat(8)).match(/<em>/g)).toHaveLength(8)
  })
})

describe('a block is parsed at its bound and not beyond it:', () => {
  const source = (text: string) => parse(text).startsWith('<p class="source">')
  const columns = (count: number) => ['a', '-', 'x'].map((cell) => `|${`${cell}|`.repeat(count)}`).join('\n')

  test.each([
    ['quotes within quotes', 32, (n: number) => '> '.repeat(n) + 'deep'],
    ['lists within lists', 32, (n: number) => '- '.repeat(n) + 'deep'],
    ['items', 500, (n: number) => '- x\n'.repeat(n)],
    ['the length of a quote', 32_000, (n: number) => '> ' + 'w'.repeat(n - 2)],
    ['columns', 100, columns],
    ['the head of a table', 20_000, (n: number) => `|${'a'.repeat(n - 11)}|b|\n|-|-|\n|x|y|`],
  ])('%s', (_, most, text) => {
    expect(source(text(most)), 'as many as may be').toBe(false)
    expect(source(text(most + 1)), 'one more').toBe(true)
  })

  test('nested emphasis, and the number of emphasis marks', () => {
    const emphasis = (text: string) => parse(text).match(/<em>/g)?.length ?? 0
    expect(emphasis('*a '.repeat(9) + 'b*'.repeat(9))).toBe(8)
    expect(emphasis('*w* '.repeat(400))).toBe(400)
    expect(emphasis('*w* '.repeat(401))).toBe(0)
  })
})

it('the first rows of a table are parsed, and the rest stays a table that can be parsed later', () => {
  let source = '| a | b |\n|---|---|\n' + lines(1_000, (at) => `| ${at} | *x* |`)
  const seen: number[] = []
  for (;;) {
    const html = parse(source)
    seen.push(...[...html.matchAll(/<td>(\d+)<\/td>/g)].map((match) => Number(match[1])))
    const rest = /<p class="rows-(\d+)">([^<]*)<\/p>/.exec(html)
    if (!rest) break
    expect(Number(rest[1])).toBe(1_000 - seen.length + 300)
    source = rest[2]!
  }
  expect(seen).toEqual(Array.from({ length: 1_000 }, (_, at) => at))
})

const repeated = fc
  .tuple(
    fc.constantFrom(
      '- item',
      '> quote',
      '1. one',
      '',
      '| a | b |',
      '|---|---|',
      'text *x*',
      '  indented',
      '    code',
      '```',
      '# head',
    ),
    fc.constantFrom(1, 1, 1, 2, 498, 500, 502),
    fc.boolean(),
  )
  .map(([line, times, apart]) => (line + (apart ? '\n\n' : '\n')).repeat(times))
const deep = fc
  .tuple(fc.constantFrom('> ', '- ', '1. ', '> - '), fc.constantFrom(15, 31, 32, 33, 40))
  .map(([mark, times]) => `${mark.repeat(times)}deep\n`)
const long = fc
  .tuple(
    fc.constantFrom('- ', '> ', '', '| '),
    fc.constantFrom(700, 810, 5_000, 17_000),
    fc.constantFrom('w ', '*a* ', '\nw '),
  )
  .map(([mark, times, word]) => `${mark}${word.repeat(times)}\n`)

it('a block gives the same HTML alone and in its message, however the text grew', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(repeated, repeated, deep, long), { maxLength: 8 }),
      fc.array(fc.nat(60_000), { maxLength: 3 }),
      (parts, cuts) => {
        const text = parts.join('')
        const blocks = new Blocks()
        for (const cut of cuts.map((at) => at % (text.length + 1)).sort((a, b) => a - b))
          blocks.update(text.slice(0, cut))
        blocks.update(text)
        const all = [...blocks.settled, blocks.tail]
        expect(all.join('') === text).toBe(true)
        // Compared as a boolean, because the diff of such texts would be unreadable.
        expect(all.map(parse).join('') === parse(text)).toBe(true)
      },
    ),
    { numRuns: 300 },
  )
}, 60_000)
