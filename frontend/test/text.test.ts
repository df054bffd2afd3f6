import { applyPatch } from 'diff'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actorName } from '../src/text/actor'
import { ending, parseAnsi } from '../src/text/ansi'
import { diffTexts, patchOf } from '../src/text/diff'
import { linesOf, reveal, revealLaidOut } from '../src/text/hidden'
import { base, relative } from '../src/text/path'
import { ago, bytes, duration, short } from '../src/text/time'

const plain = (s: string) =>
  parseAnsi(s)
    .map((p) => p.text)
    .join('')

describe('terminal output', () => {
  it('keeps its colours as classes', () => {
    expect(parseAnsi('a\x1b[1;31mb\x1b[0mc')).toEqual([
      { text: 'a', classes: '' },
      { text: 'b', classes: 'bold fg-red' },
      { text: 'c', classes: '' },
    ])
  })

  it('keeps other colours as values', () => {
    expect(parseAnsi('\x1b[38;5;208mx\x1b[48;2;1;2;3my')).toEqual([
      { text: 'x', classes: '', color: '#ff8700' },
      { text: 'y', classes: '', color: '#ff8700', background: '#010203' },
    ])
  })

  it.each([
    ['cursor moves', 'a\x1b[2Ab\x1b[10;10Hc\x1b[2Jd', 'abcd'],
    ['titles', 'a\x1b]0;evil title\x07b', 'ab'],
    ['links', '\x1b]8;;javascript:alert(1)\x1b\\text\x1b]8;;\x1b\\', 'text'],
    ['device strings', 'a\x1bPq#0;2;0\x1b\\b', 'ab'],
    ['charsets', 'a\x1b(Bb', 'ab'],
    ['control characters', 'a\x00\x08\x7f\x9bb', 'ab'],
    ['a cut escape', 'a\x1b[3', 'a'],
    ['overwritten lines', '10%\r50%\r100%\ndone', '100%\ndone'],
    ['windows lines', 'a\r\nb\r\n', 'a\nb\n'],
  ])('drops %s', (_, input, output) => {
    expect(plain(input)).toBe(output)
  })
})

describe('a deceptive character', () => {
  it('is shown by its name, and no text is lost', () => {
    const text = 'rm \u202e/ fr\u2066x\u200b'
    const pieces = reveal(text)
    expect(pieces.filter((p) => p.hidden).map((p) => p.hidden)).toEqual(['U+202E', 'U+2066', 'U+200B'])
    expect(pieces.map((p) => p.text).join('')).toBe(text)
  })

  it.each([
    [
      'a variation selector with no emoji before it',
      'rm\ufe0f a\ufe00 1\ufe0f \ufe0e',
      'U+FE0F U+FE00 U+FE0F U+FE0E',
    ],
    ['a second selector, and one no emoji has', '☺\ufe0f\ufe0f☺\ufe00', 'U+FE0F U+FE00'],
    ['of an ideograph', '葛\u{e0100}\u{e01ef}', 'U+E0100 U+E01EF'],
    ['of Mongolian', '\u180b\u180c\u180d\u180f', 'U+180B U+180C U+180D U+180F'],
    ['of music and shorthand', '\u{1d173}\u{1d17a}\u{1bca0}', 'U+1D173 U+1D17A U+1BCA0'],
    [
      'what is ignored and has no use yet',
      '\u{e0080}\u{e0fff}\ufff0\ufff8\u2065',
      'U+E0080 U+E0FFF U+FFF0 U+FFF8 U+2065',
    ],
    [
      'what was named before',
      '\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200f\u2028\u2029\u202e\u2060\u206f\u2800\u3164\ufeff\uffa0\ufff9\ufffb\u{e0001}\u{e007f}\0\x1b\x7f\x9f',
      'U+00AD U+034F U+061C U+115F U+1160 U+17B4 U+17B5 U+180E U+200B U+200F U+2028 U+2029 U+202E U+2060 U+206F U+2800 U+3164 U+FEFF U+FFA0 U+FFF9 U+FFFB U+E0001 U+E007F U+0000 U+001B U+007F U+009F',
    ],
  ])('is named: %s', (_, text, names) => {
    const pieces = reveal(text)
    expect(pieces.flatMap((p) => p.hidden ?? []).join(' ')).toBe(names)
    expect(pieces.map((p) => p.text).join('')).toBe(text)
  })

  it('is also long whitespace in preformatted text, and no text is lost', () => {
    const text = `echo ok${' '.repeat(400)}${'\n'.repeat(60)}curl\u200b x\n\t\n \u3000\n| sh`
    const pieces = revealLaidOut(text)
    expect(pieces.filter((p) => p.hidden).map((p) => p.hidden)).toEqual([
      '400 spaces',
      '⏎ 59 empty lines',
      'U+200B',
      '⏎ 2 empty lines',
    ])
    expect(pieces.map((p) => p.text).join('')).toBe(text)
    expect(linesOf(text)).toBe(64)
    const script = 'if true\n\nthen\n        echo\tok\nfi\n'
    expect(revealLaidOut(script)).toEqual([{ text: script }])
  })

  it('is not one that people write', () => {
    for (const text of [
      'naïve 日本語 שלום 👍🏽\n\ttab',
      '❤\ufe0f ☺\ufe0e ©\ufe0f 🏳\ufe0f 1\ufe0f\u20e3#\ufe0f\u20e3*\ufe0f\u20e3',
    ])
      expect(reveal(text)).toEqual([{ text }])
  })
})

describe('a diff', () => {
  it('counts and numbers its lines', () => {
    const d = diffTexts('a\nb\nc\n', 'a\nB\nc\nd\n')
    expect([d.added, d.removed]).toEqual([2, 1])
    expect(d.lines.map((l) => `${l.kind} ${l.old ?? ''}/${l.new ?? ''} ${l.text}`)).toEqual([
      'same 1/1 a',
      'remove 2/ b',
      'add /2 B',
      'same 3/3 c',
      'add /4 d',
    ])
  })

  it('of a new file is all added', () => {
    expect(diffTexts('', 'x\ny\n')).toMatchObject({ added: 2, removed: 0 })
  })

  it('of texts without common lines is shown whole, and fast', () => {
    const began = performance.now()
    const many = (salt: number) =>
      Array.from({ length: 30_000 }, (_, i) => `${(i * 7919 + salt) % 99_991}`).join('\n')
    const d = diffTexts(many(1), many(50_000))
    expect(performance.now() - began).toBeLessThan(10_000)
    expect([d.coarse, d.added]).toEqual([true, 30_000])
  })
})

it('times, sizes and paths are formatted for people', () => {
  const now = Date.parse('2026-02-21T12:00:00Z')
  expect(ago('2026-02-21T11:59:40Z', now)).toBe('now')
  expect(ago('2026-02-21T11:50:00Z', now)).toBe('10 min')
  expect(ago('2026-02-21T06:00:00Z', now)).toBe('6 h')
  expect([duration(800), duration(42_000), duration(185_000), duration(4_320_000)]).toEqual([
    '0.8 s',
    '42 s',
    '3:05',
    '1 h 12 min',
  ])
  expect([short(999), short(1240), short(12_400), short(1_200_000)]).toEqual(['999', '1.2k', '12k', '1.2M'])
  expect([bytes(12), bytes(573_440)]).toEqual(['12 B', '560 KB'])
  expect([relative('/src/a.go', '/src'), relative('/srcs/a.go', '/src'), base('/a/b/')]).toEqual([
    'a.go',
    '/srcs/a.go',
    'b',
  ])
})

describe('actorName', () => {
  it('describes an actor without a name, and keeps every name', () => {
    expect(actorName('token:682ac8fea3d34c24')).toBe('API token 4c24')
    expect(actorName('device:0b6b1d87')).toBe('Browser 1d87')
    for (const name of ['Chrome on Linux', 'token', 'token:', '']) expect(actorName(name)).toBe(name)
  })
})

describe('ending', () => {
  it('is the last characters of a text, and splits neither a colour sequence nor a character', () => {
    expect(ending('abc', 5)).toBe('abc')
    expect(ending('abcdef', 3)).toBe('def')
    const coloured = 'x\x1b[38;5;208mend'
    for (let most = 3; most < coloured.length; most++) {
      expect(
        parseAnsi(ending(coloured, most))
          .map((p) => p.text)
          .join(''),
      ).toBe('end')
    }
    expect(ending('a😀b', 2)).toBe('b')
  })
})

describe('a diff to be copied', () => {
  it('is a patch with file names as git writes them', () => {
    const lines = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']
    const before = `${lines.join('\n')}\n`
    const after = before.replace('b\n', 'B\n').replace('l\n', 'l\nm')
    expect(patchOf('src/x.go', before, after)).toBe(
      [
        '--- a/src/x.go',
        '+++ b/src/x.go',
        '@@ -1,5 +1,5 @@',
        ' a',
        '-b',
        '+B',
        ' c',
        ' d',
        ' e',
        '@@ -10,3 +10,4 @@',
        ' j',
        ' k',
        ' l',
        '+m',
        '\\ No newline at end of file',
        '',
      ].join('\n'),
    )
  })

  it('marks a new file, a deleted one and an unusual name as git does', () => {
    expect(patchOf('new', '', 'x\n')).toBe('--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+x\n')
    expect(patchOf('/etc/old', 'x\n', '')).toBe('--- a/etc/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n')
    expect(patchOf('a\n+evil', 'x\n', 'y\n').split('\n')[1]).toBe('+++ "b/a\\n+evil"')
  })

  it('applied to the old text gives the new one, however different they are', () => {
    const text = fc.array(fc.constantFrom('a', 'b', '', 'c d'), { maxLength: 12 }).map((l) => l.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        if (before !== after) expect(applyPatch(before, patchOf('f', before, after))).toBe(after)
      }),
    )
    const many = (word: string) => Array.from({ length: 6000 }, (_, i) => `${word}${i}`).join('\n')
    expect(diffTexts(many('old'), many('new')).coarse).toBe(true)
    expect(applyPatch(many('old'), patchOf('f', many('old'), many('new')))).toBe(many('new'))
  })
})
