import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import * as built from 'marked'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** What markdown is made of, and what agents write beside it. */
const bits = [
  ...[
    '*',
    '**',
    '_',
    '`',
    '```\n',
    '~~',
    '# ',
    '- ',
    '1. ',
    '> ',
    '\n',
    '\n\n',
    '    ',
    '---\n',
    '===\n',
    '\t',
  ],
  ...[
    '| a | b |\n|---|---|\n| 1 | 2 |\n',
    '<div>',
    '</div>',
    '<pre>',
    '<a href="x">',
    '<!-- c -->',
    '<script>',
  ],
  ...[
    '[a](b "t")',
    '[a]: http://x\n',
    '[a]',
    '![i](u)',
    'http://e.org/x',
    'www.x.org ',
    'a@b.de',
    '<http://q>',
  ],
  ...['\\*', 'word ', 'ü', '&amp;', '- [ ] t\n', '(', ')', '"', '!', '“', '—'],
]

function reader({ Tokenizer, Lexer, Parser, Renderer, getDefaults }: typeof built) {
  class Words extends Tokenizer {
    override html(): undefined {}
    override tag(): undefined {}
  }
  return (text: string) => {
    const options = { ...getDefaults(), tokenizer: new Words(), renderer: new Renderer() }
    return Parser.parse(new Lexer(options).lex(text), options)
  }
}

describe('the parser as it is built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'abide-marked-'))
  let whole: typeof built
  beforeAll(async () => {
    // As it comes: what is imported by its name is what the app is built with.
    const copy = join(folder, 'whole.mjs')
    const source = readFileSync(createRequire(import.meta.url).resolve('marked'), 'utf8')
    writeFileSync(copy, source.replace(/^\/\/# sourceMappingURL.*/m, ''))
    whole = (await import(/* @vite-ignore */ pathToFileURL(copy).href)) as typeof built
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('reads what is not HTML as the library does', () => {
    expect(whole).toHaveProperty('marked')
    expect(built).not.toHaveProperty('marked')
    const [ours, theirs] = [reader(built), reader(whole)]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bits), { maxLength: 14 }), (parts) => {
        const text = parts.join('')
        expect(ours(text)).toBe(theirs(text))
      }),
      { numRuns: 1_000 },
    )
  })
})
