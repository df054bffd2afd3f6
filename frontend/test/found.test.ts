import { expect, test } from 'vitest'
import { partsOf, placesIn } from '../src/text/found'

const found = (text: string, words: string) =>
  placesIn(text, partsOf(words)).map(([from, to]) => text.slice(from, to))

test('words are found in any order, phrases in quotes as they are, by what is read', () => {
  expect(found('Keep drops every row', 'row keep')).toEqual(['Keep', 'row'])
  expect(found('keep `drops` **every** row', '"drops every"')).toEqual(['drops` **every'])
  expect(found('keep row', '"row keep"')).toEqual([])
  expect(found('Cafe\u0301 au lait', 'café')).toEqual(['Cafe\u0301'])
  expect(found('cafe', 'café')).toEqual([])
  expect(found('aaa aa', 'aa a'), 'no place twice').toEqual(['aa', 'a', 'aa'])
  expect(partsOf('one "two three" "four')).toEqual(['one', 'two three', '"four'])
  expect(partsOf('** `')).toEqual([])
})
