import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'

const src = resolve(__dirname, '../src')

/** The layers that each layer may import. Imports point downwards only. */
const may: Record<string, readonly string[]> = {
  wire: [],
  text: [],
  virtual: [],
  markdown: ['text'],
  state: ['wire'],
  net: ['state', 'wire'],
  ui: ['state', 'wire', 'text', 'virtual', 'markdown'],
  page: ['ui', 'state', 'wire', 'text', 'markdown'],
}

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? files(join(folder, f.name)) : [join(folder, f.name)],
  )
}

const imports = files(src)
  .filter((f) => /\.(ts|svelte)$/.test(f))
  .flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((m) => {
      const to = relative(src, resolve(dirname(file), m[1]!))
      return {
        from: relative(src, file),
        layer: relative(src, file).split('/')[0]!,
        to,
        toLayer: to.split('/')[0]!,
      }
    })
  })

it('finds the imports it checks', () => {
  expect(imports.length).toBeGreaterThan(100)
})

it('imports point downwards only', () => {
  const wrong = imports.filter(
    ({ from, layer, toLayer }) => from.includes('/') && layer !== toLayer && !may[layer]?.includes(toLayer),
  )
  expect(wrong.map((w) => `${w.from} -> ${w.to}`)).toEqual([])
})

it('every folder is listed as a layer', () => {
  const folders = readdirSync(src, { withFileTypes: true }).flatMap((f) => (f.isDirectory() ? [f.name] : []))
  expect(folders.filter((f) => !(f in may))).toEqual([])
})

it('no component is over 200 lines of script and markup', () => {
  const long = files(join(src, 'ui'))
    .filter((f) => f.endsWith('.svelte'))
    .map((f) => ({
      f: relative(src, f),
      lines: readFileSync(f, 'utf8').split('<style>')[0]!.split('\n').length,
    }))
    .filter(({ lines }) => lines > 210)
  expect(long).toEqual([])
})

it('no source sets HTML or runs code from a string', () => {
  const banned = /\{@html|\.innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/
  expect(
    files(src)
      .filter((f) => banned.test(readFileSync(f, 'utf8')))
      .map((f) => relative(src, f)),
  ).toEqual([])
})
