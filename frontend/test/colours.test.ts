import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ui = join(import.meta.dirname, '../src/ui')

it('colours are defined only in the theme', () => {
  const styled = readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((f) =>
    /\.(svelte|css)$/.test(f),
  )
  const wrong = styled
    .filter((f) => f !== 'theme.css')
    .flatMap((f) => {
      const text = readFileSync(join(ui, f), 'utf8')
      // The colours of a mask are never visible: only their opacity counts.
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

const theme = readFileSync(join(ui, 'theme.css'), 'utf8')
const [usual, more] = theme.split('@media (prefers-contrast: more)') as [string, string]

/** A variable's colours in the light and the dark theme; with `high` those for high contrast if it has any. */
function colours(name: string, high: boolean): string[] {
  const find = (text: string) =>
    text.match(new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`))?.slice(1)
  const found = (high && find(more)) || find(usual)
  if (!found) throw new Error(`the theme has no --${name}`)
  return found
}

/** The relative luminance of WCAG 2. */
function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = parseInt(colour.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
}

function contrast(a: string, b: string): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (light! + 0.05) / (dark! + 0.05)
}

it.each([
  ['focus', 3, 4.5],
  ['link', 4.5, 7],
  ['running', 4.5, 7],
  ['unread', 3, 4.5],
])('the colour of %s is its own, and stands out from every background', (name, least, leastHigh) => {
  for (const high of [false, true]) {
    const own = colours(name, high)
    for (const other of ['accent', 'code-attribute', 'attention', 'danger', 'good'])
      for (const [i, colour] of colours(other, high).entries()) expect(own[i], other).not.toBe(colour)
    for (const back of ['bg', 'surface', 'raised', 'accent-soft'])
      for (const [i, colour] of colours(back, high).entries())
        expect(contrast(own[i]!, colour), `on ${back}, ${i ? 'dark' : 'light'}`).toBeGreaterThanOrEqual(
          high ? leastHigh : least,
        )
  }
})

it('syntax does not use the accent', () => {
  for (const high of [false, true])
    for (const name of ['keyword', 'string', 'number', 'name', 'attribute', 'meta'])
      for (const [i, colour] of colours('accent', high).entries())
        expect(colours(`code-${name}`, high)[i], name).not.toBe(colour)
})

it('the mark in the app has the shapes of its icon', () => {
  const shapes = (file: string) =>
    [...readFileSync(join(ui, file), 'utf8').matchAll(/ (cx|cy|r|d|rx|stroke-width|viewBox)="([^"]+)"/g)].map(
      ([, name, value]) => `${name} ${value}`,
    )
  expect(shapes('../../public/icons/icon.svg')).toContain('d M112 372h288')
  expect(shapes('parts/Mark.svelte')).toEqual(shapes('../../public/icons/icon.svg'))
})
