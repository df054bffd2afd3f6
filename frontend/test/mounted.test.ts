import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { mounted } from '../dev/mounted.mjs'

const file = new URL('../node_modules/svelte/src/internal/client/dom/hydration.js', import.meta.url).pathname
const transform = mounted().transform as (code: string, id: string) => { code: string } | undefined

it('the build takes no page over', () => {
  const { code } = transform(readFileSync(file, 'utf8'), file)!
  expect(code).toContain('export const hydrating = false;')
  expect(code.match(/^.*\bhydrating = /gm)).toEqual(['export const hydrating = '])
})

it('a Svelte that does it in another way stops the build', () => {
  expect(() => transform('export let hydrating = true;', file)).toThrow('dev/mounted.mjs')
  expect(transform('export let hydrating = true;', '/some/other.js')).toBeUndefined()
})
