import type { Grown } from '../wire/gen'

/** Joins two steps in which a text grew, as Then of Grown in Go. */
export function grownBy(earlier: Grown | undefined, later: Grown | undefined): Grown | undefined {
  if (!earlier || !later) return later ?? earlier
  if (earlier.member !== later.member) return later
  const { rest, left } = cutEnd(earlier.added, later.cut ?? 0)
  return { ...earlier, cut: (earlier.cut ?? 0) + left, added: rest + later.added }
}

/** The text that a text became. */
export function grownText(text: string, grown: Grown): string {
  return cutEnd(text, grown.cut ?? 0).rest + grown.added
}

/** Cuts characters, of one or two units, from the end of a text. `left` is how many it did not have. */
function cutEnd(text: string, characters: number): { rest: string; left: number } {
  let end = text.length
  let left = characters
  for (; left > 0 && end > 0; left--) {
    end -= end > 1 && text.codePointAt(end - 2)! > 0xffff ? 2 : 1
  }
  return { rest: text.slice(0, end), left }
}
