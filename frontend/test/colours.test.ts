import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ui = join(import.meta.dirname, '../src/ui')

it('only the theme says what a colour is', () => {
  const styled = readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((f) =>
    /\.(svelte|css)$/.test(f),
  )
  const wrong = styled
    .filter((f) => f !== 'theme.css')
    .flatMap((f) => {
      const text = readFileSync(join(ui, f), 'utf8')
      // A mask's colours are never seen: only how much of them there is counts.
      const style = (f.endsWith('.css') ? text : text.slice(text.indexOf('<style>'))).replace(
        /mask[^;]*;/g,
        '',
      )
      return (style.match(/(#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|light-dark)\().*/gi) ?? []).map(
        (c) => `${f}: ${c}`,
      )
    })
  expect(styled.length).toBeGreaterThan(50)
  expect(wrong).toEqual([])
})
