// @vitest-environment happy-dom
import fc from 'fast-check'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Renderer } from '../src/markdown/render'

const shown = (steps: readonly string[]): string => {
  const element = document.createElement('div')
  const renderer = new Renderer(element)
  for (const [i, step] of steps.entries()) renderer.update(step, i < steps.length - 1)
  renderer.stop()
  return element.innerHTML
}

const line = fc.constantFrom(
  ...['', '', '', 'Some *text*', '# Heading', '---', '- item', '1. one', '  indented', '    code', '> quote'],
  ...['```js', '```', '~~~', '~~~~', 'let a = `b`', '| a | b |', '|---|---|', '| 1 | 2 |', '[ref]', '**bold'],
  ...['5. five', '7) seven', '|--:|:-:|', '- [x] done'],
  ...['[ref]: http://r.example', '<b>raw</b>', '- [ ] todo', 'over** lines\r', '', '12', '13'],
)
const text = fc.array(line, { maxLength: 16 }).map((lines) => lines.join('\n'))
const cuts = fc.array(fc.nat(200), { maxLength: 10 })
const upTo = (t: string, at: readonly number[]) =>
  at
    .map((c) => c % (t.length + 1))
    .sort((a, b) => a - b)
    .map((c) => t.slice(0, c))

// What sanitises is slow outside a browser.
describe('a message', { timeout: 30_000 }, () => {
  // A slow machine must not make the renderer put off what the test looks at.
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(0))

  it('looks the same however it grew', () => {
    fc.assert(
      fc.property(text, cuts, (t, at) => {
        expect(shown([...upTo(t, at), t])).toBe(shown([t]))
      }),
      { numRuns: 60 },
    )
  })

  it('looks as it is now, whatever was shown before: longer, shorter, another, with more before it', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, cuts, (others, t, at) => {
        const steps = others.flatMap((other) => [...upTo(other, at), other, t + '\n\n' + other])
        expect(shown([...steps, t])).toBe(shown([t]))
      }),
      { numRuns: 40 },
    )
  })

  it('that ended and goes on after all looks like the whole', () => {
    fc.assert(
      fc.property(text, cuts, (t, at) => {
        const element = document.createElement('div')
        const renderer = new Renderer(element)
        for (const step of upTo(t, at)) renderer.update(step, false)
        renderer.update(t, false)
        expect(element.innerHTML).toBe(shown([t]))
      }),
      { numRuns: 40 },
    )
  })
})
