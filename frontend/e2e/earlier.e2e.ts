// Reaching the start of a message that is too long to be rendered at once, by keyboard.
import { expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { agents, say, turn } from './rig/told.ts'
import { until } from './rig/until.ts'

const rig = paired({ hub: { agents } })
test('Enter shows earlier parts, again and again, and the first paragraph gets the focus at last', async () => {
  const session = await rig.hub.newSession('Long', 'told')
  const count = 1_600
  await turn(rig.hub, session, say(Array.from({ length: count }, (_, at) => `Paragraph ${at}.\n\n`).join('')))
  const screen = await rig.device.watch(session, desktop)
  const { page } = screen
  const button = page.getByRole('button', { name: /^Show more of \d+ earlier parts$/ })
  await button.waitFor()
  const before = async () =>
    Number(/\d+/.exec((await button.textContent({ timeout: 5_000 }).catch(() => '')) ?? '')?.[0] ?? 0)
  const focus = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  await button.focus()
  let presses = 0
  for (let left = await before(); left > 0; presses++) {
    await expect
      .poll(() => focus(), { message: 'the next press is of the same button' })
      .toMatch(/^Show more of/)
    await page.keyboard.press('Enter')
    left = await until('fewer left', async () => {
      const now = (await button.count()) === 0 ? 0 : await before()
      return now < left ? { now } : null
    }).then(({ now }) => now)
  }
  expect(presses).toBeGreaterThan(1)
  await until('the beginning in the focus', async () => (await focus()).startsWith('Paragraph 0.'))
  const paragraphs = await page.locator('.prose p').allTextContents()
  expect(paragraphs).toEqual(paragraphs.map((_, at) => `Paragraph ${at}.`))
  expect(paragraphs).toHaveLength(count)
  // The focus is in the message, not at the top of the page, so that a reader can continue there.
  await expect.poll(() => page.evaluate(() => document.activeElement!.closest('article') !== null)).toBe(true)
  expect(screen.errors).toEqual([])
  await page.close()
})
