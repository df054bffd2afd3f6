import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Blocks } from '../src/markdown/blocks'
import { Portions, weigh } from '../src/markdown/portions'

const portionsOf = (blocks: readonly string[]) => {
  const portions = new Portions()
  for (const block of blocks) portions.add(block)
  return portions
}
const table = '|a|b|\n|-|-|\n|x|y|\n\n'

it('a portion of a message has the same weight for any number and kind of blocks', () => {
  for (const block of [
    'word\n\n',
    '[i](https://e.invalid)\n\n',
    table,
    '# *h*\n\n',
    '- item\n'.repeat(400),
  ]) {
    const portions = portionsOf(Array<string>(5_000).fill(block))
    const shown = 5_000 - portions.parts[portions.first(0)]!.from
    expect(shown * weigh(block), block.slice(0, 20)).toBeLessThan(1_300)
    expect(shown * weigh(block), block.slice(0, 20)).toBeGreaterThan(700)
  }
})

it('a message of usual length is shown whole, and so is any after enough requests for more', () => {
  const usual = portionsOf(Array<string>(60).fill('Some *words* with `code`\nin two lines.\n\n'))
  expect(usual.first(0)).toBe(0)
  const long = portionsOf(Array<string>(5_000).fill(table))
  const steps = Array.from({ length: 400 }, (_, more) => long.first(more))
  expect(steps.every((first, at) => at === 0 || first < steps[at - 1]! || first === 0)).toBe(true)
  expect(steps.at(-1)).toBe(0)
})

it('every block is in one part, and a portion begins with one of its parts', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('word', table, '- x\n'.repeat(100))), fc.nat(9), (blocks, more) => {
      const portions = portionsOf(blocks)
      const lie = portions.parts.flatMap(({ from, to }) => blocks.slice(from, to))
      expect(lie).toEqual(blocks)
      const first = portions.first(more)
      expect(portions.begin(first)).toBe(first)
    }),
  )
})

it('a long text is parsed in pieces until enough is known, and the blocks are the same', () => {
  const text = `${'One.\n\n'.repeat(5_000)}\`\`\`\n${'code\n\n'.repeat(10_000)}\`\`\`\n\n${'Two.\n\n'.repeat(5_000)}End`
  const once = new Blocks()
  once.update(text)
  const pieces = new Blocks()
  let looks = 1
  for (pieces.update(text, () => true); pieces.behind && looks < 100; looks++) {
    expect(pieces.settled.join('') + pieces.tail === text).toBe(true)
    pieces.update(text, () => true)
  }
  expect(looks).toBeGreaterThan(4)
  expect(pieces.behind).toBe(false)
  expect(pieces.settled).toEqual(once.settled)
  expect([pieces.tail, once.tail]).toEqual(['Two.\n\nEnd', 'Two.\n\nEnd'])
})
