// How much of the app is loaded before a question with a diff is painted.
import { expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { scriptsUntil } from './rig/measure.ts'
import { paired } from './rig/paired.ts'

const at = paired()

test.each([
  ['at the desk', desktop, '[data-permission] .l.add'],
  ['on a phone, folded', phone, '[data-permission] [data-option]'],
])('a question with a diff %s is painted after 130 KB of JavaScript at most', async (_, size, painted) => {
  const asked = await at.hub.newSession('Asked')
  await at.hub.prompt(asked, '/edit NOTES.md')
  await at.hub.event(asked, 'permission_request')
  const page = await at.device.browser.window(size)
  const files = await scriptsUntil(page, `${at.device.origin}/s/${asked}`, painted)
  const sum = files.reduce((n, { bytes }) => n + bytes, 0) / 1024
  expect(sum, files.map((f) => `${(f.bytes / 1024).toFixed(1)} ${f.name}`).join('\n')).toBeLessThanOrEqual(
    130,
  )
  await page.close()
})
