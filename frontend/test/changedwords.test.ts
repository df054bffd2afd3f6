import { describe, expect, test } from 'vitest'
import { diffTexts } from '../src/text/diff'
import { byLine } from '../src/markdown/tokens'
import { changedWords, pairsOf } from '../src/text/words'
import { partsOf } from '../src/ui/feed/diffparts'

const compare = (before: string, after: string) => {
  const { lines } = diffTexts(before, after)
  const marks = changedWords(lines)
  return lines.flatMap((line) =>
    (marks.get(line) ?? []).map(([from, to]) => `${line.kind} ${line.text.slice(from, to)}`),
  )
}

describe('the changed words of a line', () => {
  test('are those that differ from the line in its place', () => {
    expect(compare('const a = 1\nlet b = 2\n', 'const a = 7\nlet bb = 2\n')).toEqual([
      ...['remove 1', 'remove b', 'add 7', 'add bb'],
    ])
  })

  test('are not told of lines that are hardly alike, or have no partner', () => {
    expect(compare('the quick brown fox\n', 'import { x } from "y"\n')).toEqual([])
    expect(compare('one\n', 'one\ntwo\n')).toEqual([])
  })

  test('cost no more than a bound, whatever the lines', () => {
    const long = (word: string) => `${word} ${'a '.repeat(1000)}\n`
    expect(compare(long('b'), long('c'))).toEqual([])
    const many = (word: string) => Array.from({ length: 2000 }, (_, i) => `line ${i} ${word}`).join('\n')
    expect(compare(many('b'), many('c')).length).toBe(800)
  })
})

test('two sides have what was removed beside what was added in its place', () => {
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
  test('change where its colour or its changed words begin and end', () => {
    expect(partsOf('let b = 2', [[0, 3, 'hljs-keyword']], [[4, 5]])).toEqual([
      { text: 'let', look: 'hljs-keyword', changed: false },
      { text: ' ', look: '', changed: false },
      { text: 'b', look: '', changed: true },
      { text: ' = 2', look: '', changed: false },
    ])
    expect(partsOf('', [], [])).toEqual([])
  })

  test('have the colour of the inner of two tokens, also in the lines of a token of several', () => {
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
