// What sessions used: from Settings and the palette, as a chart, and as tables.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const at = paired({ hub: { config: 'projects: {work: {budget: {tokens: 1000}}}\n' } })
const desk: Size = { width: 1280, height: 800 }

for (const size of [phone, desk])
  for (const theme of ['light', 'dark'] as const)
    test(`what was used is shown by day, project and agent, at ${size.width}, ${theme}`, async () => {
      const id = await at.hub.newSession(`Usage ${size.width} ${theme}`)
      await at.hub.turn(id, '/plan')
      const screen = await at.device.open('/settings', size)
      const { page, errors } = screen
      await page.emulateMedia({ colorScheme: theme })
      await page.getByRole('button', { name: 'Usage: tokens and cost' }).click()
      await until('the screen', () => new URL(page.url()).pathname === '/usage')
      await page.getByRole('img', { name: /Tokens by day, the last 30 days/ }).waitFor()
      await expect
        .poll(() =>
          page
            .getByRole('img', { name: /Tokens by day/ })
            .locator('rect')
            .count(),
        )
        .toBe(1)
      const budgets = page.getByRole('list', { name: 'Budgets of today' })
      await expect
        .poll(() => budgets.textContent())
        .toMatch(/work\s*[1-9][0-9] % of today’s budget of 1.0k tokens/)
      await expect
        .poll(() => budgets.getByRole('progressbar', { name: /% of today’s budget/ }).count())
        .toBe(1)
      await page.getByText('Days as a table').click()
      const { total } = await at.hub.api<{ total: { tokens: number; turns: number } }>('GET', '/api/usage')
      expect(total.tokens).toBeGreaterThan(0)
      const agent = page.getByRole('list', { name: 'By agent' }).getByRole('listitem')
      await expect.poll(() => agent.textContent()).toMatch(new RegExp(`^demo .* ${total.turns} turns?$`))
      await expect
        .poll(() => page.getByRole('table', { name: 'Usage by day' }).getByRole('row').count())
        .toBe(2)
      await page.getByRole('combobox', { name: 'Time' }).selectOption('7')
      await page.getByRole('img', { name: /the last 7 days/ }).waitFor()
      await expect
        .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
        .toBeLessThanOrEqual(size.width)
      expect(await barriers(page)).toEqual([])
      await shot(screen, `usage-${size.width}-${theme}`)
      expect(errors).toEqual([])
      await page.close()
    })

test('the palette leads there', async () => {
  const screen = await at.device.open('/', desk)
  const { page, errors } = screen
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command or session' }).fill('tokens and cost')
  await page.getByRole('option', { name: /Usage/ }).waitFor()
  await page.keyboard.press('Enter')
  await until('the screen', () => new URL(page.url()).pathname === '/usage')
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  expect(errors).toEqual([])
  await page.close()
})
