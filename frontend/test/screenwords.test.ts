import { describe, expect, it } from 'vitest'
import { catalogue, messages, pseudo, wordsIn } from '../dev/words.mjs'

const found = (text: string, file = 'A.svelte') => wordsIn(text, file).messages
const said = (text: string, file = 'A.svelte') => wordsIn(text, file).written((message) => `<${message}>`)

it('the catalogue has every word of the screens, and no other', () => {
  expect(Object.keys(catalogue()), 'npm run words writes it').toEqual(messages())
  expect(Object.values(catalogue()).filter((word) => /⟦|\{\}/.test(word))).toEqual([])
})

/** Phrases of earlier versions that readers did not understand. Use the usual words: expired, revoked, interrupted, resumed. */
const unusual = [
  /\b(is no more|never was|anew|where the hub runs|also when|wants a|in force|take it back|come in|may look|cut off)\b/i,
  /\b(in your place|ran out|counts? this once|told nothing|access of .* has ended|may do everything)\b/i,
  /\b(closed by the hub|broke off|turn was cancelled|everything the agent asks|what it asks|does not say exactly)\b/i,
  /\b(no answers to choose|exactly this again|offered nothing for once|^you were away|latest work|who watches)\b/i,
  /\b(within the hour|pair it again to go on|another device join|built it yourself|make one with|nothing at this address)\b/i,
  /\b(the list has it|take it out|is pinned still|is in the archive still|keep it|asked here|was said|places in)\b/i,
  /\b(in this order|what you send|at work|with its memory|knows nothing of|no sign of|new identity|another history)\b/i,
  /\b(the device failed|what compares|above is its beginning|full size|get all|may not connect|lies over the screen)\b/i,
  /\b(nothing is being typed|these keys|without this, enter|ten minutes ago|already given to the agent|plain page)\b/i,
  /\b(read, find and print|no title, project|somebody|nobody)\b/i,
  /^What(ever|) .*[^?]$|^Who(ever|) .*[^?]$/,
]

it('the screens use none of the phrases that readers did not understand', () => {
  expect(Object.values(catalogue()).filter((word) => unusual.some((phrase) => phrase.test(word)))).toEqual([])
})

describe('words', () => {
  it('are texts and labels, with a placeholder for each expression in them', () => {
    const markup =
      '<p class="a b" title="Copy {name}">Show {n} of\n  {all} <b>now</b> {x}</p><input placeholder="Go" />'
    expect(found(markup)).toEqual(['Copy {0}', 'Show {0} of {1}', 'now', 'Go'])
  })

  it('are the tagged templates in code, also nested ones', () => {
    const code = 'const a = x === "no" ? t`Not ${who}${t`, or ${n}`}.` : t`Yes`'
    expect(found(code, 'a.ts')).toEqual(['Not {0}{1}.', ', or {0}', 'Yes'])
    expect(said(code, 'a.ts')).toBe('const a = x === "no" ? `<Not ${who}${`<, or ${n}>`}.>` : `<Yes>`')
  })

  it('are not the texts of code, kbd and pre', () => {
    expect(found('<kbd>Esc Esc</kbd> <code>abide pair</code> <style>p { color: red }</style>')).toEqual([])
  })

  it('can contain any character without becoming markup or code', () => {
    const say = (text: string, file: string, message: string) => wordsIn(text, file).written(() => message)
    expect(say('<p>Hello</p>', 'A.svelte', '{a} < "b" & c')).toBe('<p>&#123;a} &lt; "b" &amp; c</p>')
    expect(say('<p title="Hello"></p>', 'A.svelte', '"b"')).toBe('<p title="&quot;b&quot;"></p>')
    expect(say('t`Hello`', 'a.ts', 'a ${b} `c` \\')).toBe('`a \\${b} \\`c\\` \\\\`')
  })

  it('can have their placeholders in another order', () => {
    const { written } = wordsIn('<p>{n} of {all} files</p>', 'A.svelte')
    expect(written(() => '{1} files, {0} of them')).toBe('<p>{all} files, {n} of them</p>')
  })

  it('keep the space around them', () => {
    expect(said('<p>a <b>bold</b> move on</p>')).toBe(
      '<p>a <b><bold></b> <move on></p>'.replace('<bold>', '&lt;bold>').replace('<move on>', '&lt;move on>'),
    )
  })
})

it('a pseudo-language leaves no plain letter', () => {
  expect(pseudo('Show {0} of {1} Files, XYZ jq')).toMatch(/^⟦[^a-zA-Z]+⟧$/)
  expect(pseudo('{0} a')).toContain('{0}')
})
