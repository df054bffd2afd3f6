import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { pageFile, pageParts, styleFile } from '../dev/page.mjs'

it('the hub’s exported page has the player and the looks of this app: `npm run page` builds them', async () => {
  const { script, style } = await pageParts()
  expect(readFileSync(pageFile, 'utf8')).toBe(script)
  expect(readFileSync(styleFile, 'utf8')).toBe(style)
})
