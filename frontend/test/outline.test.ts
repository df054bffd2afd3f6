// @vitest-environment happy-dom
import { expect, it } from 'vitest'
import { Outline } from '../src/markdown/outline'

/** The aria-levels that headings with these numbers get, given in pieces. */
function levels(base: number, ...pieces: number[][]): string[] {
  let outline = new Outline(base)
  return pieces.flatMap((numbers) => {
    const piece = document.createElement('div')
    piece.append(...numbers.map((n) => document.createElement(`h${n}`)))
    outline = outline.level(piece)
    return [...piece.children].map((heading) => heading.getAttribute('aria-level')!)
  })
}

it('begins below the level of the screen and never skips a level, for any headings', () => {
  expect(levels(2, [1, 2, 3, 2])).toEqual(['2', '3', '4', '3'])
  expect(levels(2, [3, 6, 1, 4])).toEqual(['2', '3', '2', '3'])
  expect(levels(3, [1, 2, 3, 4, 5, 6])).toEqual(['3', '4', '5', '6', '6', '6'])
})

it('continues in the next piece at the level where the last one ended', () => {
  expect(levels(2, [2, 4], [4, 6], [2])).toEqual(['2', '3', '3', '4', '2'])
})
