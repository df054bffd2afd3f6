import { expect, test } from 'vitest'
import { linesAbout, linesOf, placeNow, quoteMost } from '../src/state/remarks'

const file = linesOf('one\ntwo\nthree\ntwo\nfour\n')

test('a comment on several lines has the first, the last and their text', () => {
  expect(linesAbout(file.slice(1), 1)).toEqual({ line: 2, quote: 'two' })
  expect(linesAbout(file.slice(1), 2)).toEqual({ line: 2, end_line: 3, quote: 'two\nthree' })
  expect(linesAbout([{ text: 'of a part' }, { text: 'of a file' }], 2)).toEqual({
    quote: 'of a part\nof a file',
  })
})

test('a comment goes with its lines, to the nearest of the same text', () => {
  expect(placeNow(file, { line: 4, quote: 'two' })).toEqual({ from: 3, to: 3 })
  expect(placeNow(file, { line: 1, quote: 'two' })).toEqual({ from: 1, to: 1 })
  expect(placeNow(file, { line: 1, quote: 'two\nfour' })).toEqual({ from: 3, to: 4 })
  const moved = linesOf('new\nnew\none\ntwo\nthree\ntwo\nfour\n')
  expect(placeNow(moved, { line: 3, quote: 'three' })).toEqual({ from: 4, to: 4 })
})

test('a comment whose lines have changed has no place', () => {
  expect(placeNow(file, { line: 2, quote: 'twice' })).toBeNull()
  expect(placeNow(file, { line: 2, quote: 'two\n3' })).toBeNull()
  expect(placeNow(file, { line: 5, quote: 'four\nfive' })).toBeNull()
  expect(placeNow(file, { line: 2, quote: 'tw' })).toBeNull()
})

test('without a quote a comment stays at its line', () => {
  expect(placeNow(file, { line: 3 })).toEqual({ from: 2, to: 2 })
  expect(placeNow(file, { line: 9 })).toBeNull()
})

test('a line longer than a quote is found again', () => {
  const long = linesOf(`short\n${'x'.repeat(3000)}`)
  const { quote } = linesAbout(long.slice(1), 1)
  expect(quote).toHaveLength(quoteMost)
  expect(placeNow(long, { line: 2, quote })).toEqual({ from: 1, to: 1 })
  expect(placeNow(long, { line: 2, quote: 'x'.repeat(500) })).toEqual({ from: 1, to: 1 })
})
