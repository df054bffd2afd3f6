import { describe, expect, test } from 'vitest'
import { diffTexts } from '../src/text/diff'
import { byLine } from '../src/markdown/tokens'
import { pairsOf } from '../src/text/pairs'
import { changedWords } from '../src/text/words'
import { partsOf } from '../src/ui/feed/diffparts'

const compare = (before: string, after: string) => {
  const { lines } = diffTexts(before, after)
  const marks = changedWords(lines)
  return lines.flatMap((line) =>
    (marks.get(line) ?? []).map(([from, to]) => `${line.kind} ${line.text.slice(from, to)}`),
  )
}

describe('the changed words of a line', () => {
  test('are the words that differ from the line it replaces', () => {
    expect(compare('const a = 1\nlet b = 2\n', 'const a = 7\nlet bb = 2\n')).toEqual([
      ...['remove 1', 'remove b', 'add 7', 'add bb'],
    ])
  })

  test('are not marked in lines that differ too much or replace no line', () => {
    expect(compare('the quick brown fox\n', 'import { x } from "y"\n')).toEqual([])
    expect(compare('one\n', 'one\ntwo\n')).toEqual([])
  })

  test('have a bounded cost for any lines', () => {
    const long = (word: string) => `${word} ${'a '.repeat(1000)}\n`
    expect(compare(long('b'), long('c'))).toEqual([])
    const many = (word: string) => Array.from({ length: 2000 }, (_, i) => `line ${i} ${word}`).join('\n')
    expect(compare(many('b'), many('c')).length).toBe(800)
  })
})

test('in two columns a removed line is beside the line that replaces it', () => {
  const { lines } = diffTexts('a\nb\nc\nd\n', 'a\nB\nd\ne\n')
  expect(pairsOf(lines).map(([old, now]) => [old?.text ?? null, now?.text ?? null])).toEqual([
    ...[
      ['a', 'a'],
      ['b', 'B'],
      ['c', null],
      ['d', 'd'],
      [null, 'e'],
    ],
  ])
})

describe('the parts of a line', () => {
  test('begin and end where a colour or a changed word does', () => {
    expect(partsOf('let b = 2', [[0, 3, 'hljs-keyword']], [[4, 5]])).toEqual([
      { text: 'let', look: 'hljs-keyword', changed: false },
      { text: ' ', look: '', changed: false },
      { text: 'b', look: '', changed: true },
      { text: ' = 2', look: '', changed: false },
    ])
    expect(partsOf('', [], [])).toEqual([])
  })

  test('have the colour of the inner of two tokens, also in a token of several lines', () => {
    const text = 'x /* a\nb */ `${y}`'
    const tokens = byLine(text, [
      [14, 15, 'inner'],
      [2, 11, 'comment'],
      [12, 17, 'string'],
    ])
    expect(tokens).toEqual([
      [[2, 6, 'comment']],
      [
        [0, 4, 'comment'],
        [5, 10, 'string'],
        [7, 8, 'inner'],
      ],
    ])
    expect(partsOf('b */ `${y}`', tokens[1]!, []).map((p) => `${p.look}:${p.text}`)).toEqual([
      ...['comment:b */', ': ', 'string:`$', 'inner:{', 'string:y}', ':`'],
    ])
  })
})
