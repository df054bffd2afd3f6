import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { pageFile, pageScript } from '../dev/page.mjs'

it('the hub’s exported page has the player of this app: `npm run page` builds it', async () => {
  expect(readFileSync(pageFile, 'utf8')).toBe(await pageScript())
})
