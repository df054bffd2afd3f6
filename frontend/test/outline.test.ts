// @vitest-environment happy-dom
import { expect, it } from 'vitest'
import { Outline } from '../src/markdown/outline'

/** The levels that headings of these numbers have, in the pieces they come in. */
function levels(base: number, ...pieces: number[][]): string[] {
  let outline = new Outline(base)
  return pieces.flatMap((numbers) => {
    const piece = document.createElement('div')
    piece.append(...numbers.map((n) => document.createElement(`h${n}`)))
    outline = outline.level(piece)
    return [...piece.children].map((heading) => heading.getAttribute('aria-level')!)
  })
}

it('begins below the screen and never skips a level, whatever was written', () => {
  expect(levels(2, [1, 2, 3, 2])).toEqual(['2', '3', '4', '3'])
  expect(levels(2, [3, 6, 1, 4])).toEqual(['2', '3', '2', '3'])
  expect(levels(3, [1, 2, 3, 4, 5, 6])).toEqual(['3', '4', '5', '6', '6', '6'])
})

it('goes on in the next piece where the last one ended', () => {
  expect(levels(2, [2, 4], [4, 6], [2])).toEqual(['2', '3', '3', '4', '2'])
})
