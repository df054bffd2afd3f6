// The list's filter: by lifecycle, and filters that a person gave a name.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { smallTargets } from './rig/targets.ts'

const at = paired()

test.each([
  { how: 'at 390', size: phone },
  { how: 'at 1280', size: { width: 1280, height: 800 } },
])('a filter by lifecycle is saved, chosen after a reload, and removed, $how', async ({ size }) => {
  const over = await at.hub.newSession(`Over ${size.width}`)
  await at.hub.turn(over, '/plan')
  await at.hub.api('POST', `/api/sessions/${over}/end`, {})
  const live = await at.hub.newSession(`Live ${size.width}`)
  await at.hub.turn(live, '/plan')
  const screen = await at.device.open('/', size)
  const { page, errors } = screen
  const row = (text: string) => page.locator('[data-row]', { hasText: text })
  await row(`Live ${size.width}`).waitFor()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('combobox', { name: 'Lifecycle' }).selectOption('Completed')
  await row(`Live ${size.width}`).waitFor({ state: 'detached' })
  await row(`Over ${size.width}`).waitFor()
  await page.getByRole('combobox', { name: 'Group by' }).selectOption('lifecycle')
  await page.getByRole('heading', { name: 'Completed' }).waitFor()
  const name = page.getByRole('textbox', { name: 'Save the filter as' })
  await name.fill('Done work')
  await page.keyboard.press('Enter')
  const saved = page.getByRole('combobox', { name: 'Saved' })
  await saved.waitFor()
  await expect.poll(() => saved.inputValue()).toBe('Done work')
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
    .toBeLessThanOrEqual(size.width)
  if (size === phone) await expect.poll(() => smallTargets(page)).toEqual([])
  expect(await barriers(page)).toEqual([])
  await shot(screen, `filters-${size.width}`)

  await page.reload()
  await row(`Live ${size.width}`).waitFor()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await saved.selectOption('Done work')
  await row(`Live ${size.width}`).waitFor({ state: 'detached' })
  await expect.poll(() => page.getByRole('combobox', { name: 'Lifecycle' }).inputValue()).toBe('Completed')
  await expect.poll(() => page.getByRole('combobox', { name: 'Group by' }).inputValue()).toBe('lifecycle')
  await page.getByRole('button', { name: 'Remove this filter' }).click()
  await saved.waitFor({ state: 'detached' })
  await row(`Over ${size.width}`).waitFor()
  expect(errors).toEqual([])
  await page.close()
})

test.each([
  { how: 'at 390', size: phone },
  { how: 'at 1280', size: { width: 1280, height: 800 } },
])('forks stand below their parent, more than three behind a button, $how', async ({ size }) => {
  const parent = await at.hub.newSession(`Parent ${size.width}`)
  await at.hub.turn(parent, '/plan')
  for (let i = 0; i < 5; i++) {
    const fork = await at.hub.api<{ session_id: string }>('POST', `/api/sessions/${parent}/fork`, { seq: 3 })
    await at.hub.turn(fork.session_id, '/plan')
  }
  const screen = await at.device.open('/', size)
  const { page, errors } = screen
  await page
    .locator('[data-row]', { hasText: `Parent ${size.width}` })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByRole('combobox', { name: 'Group by' }).selectOption('tree')
  const below = page.getByRole('list', { name: `Forks and jobs of Parent ${size.width}` })
  await below.waitFor()
  await expect.poll(() => below.locator('[data-row]').count()).toBe(3)
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
    .toBeLessThanOrEqual(size.width)
  if (size === phone) await expect.poll(() => smallTargets(page)).toEqual([])
  expect(await barriers(page)).toEqual([])
  await shot(screen, `tree-${size.width}`)
  const more = page.getByRole('button', { name: '2 more forks and jobs' }).first()
  await expect.poll(() => more.getAttribute('aria-expanded')).toBe('false')
  await more.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => below.locator('[data-row]').count()).toBe(5)
  await page.getByRole('button', { name: 'Show fewer' }).waitFor()
  await page.locator('[data-row] a').first().focus()
  await page.keyboard.press('ArrowDown')
  await expect
    .poll(() =>
      below
        .locator('[data-row] a')
        .first()
        .evaluate((a) => a === document.activeElement),
    )
    .toBe(true)
  expect(errors).toEqual([])
  await page.close()
})
