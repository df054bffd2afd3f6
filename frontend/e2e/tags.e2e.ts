// Tags of sessions: given and removed in the details, shown in the list, which a tap on one narrows.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { smallTargets } from './rig/targets.ts'
import { pressFor, tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

const at = paired()

test.each([
  { how: 'by touch at 390', size: phone },
  { how: 'by keyboard at 1280', size: { width: 1280, height: 800 } },
])('a session is tagged in its details, and the list is narrowed by the tag, $how', async ({ size }) => {
  const touch = size === phone
  const name = `Tagged ${size.width}`
  const session = await at.hub.newSession(name)
  await at.hub.newSession(`Other ${size.width}`)
  const screen = await at.device.watch(session, size)
  const { page } = screen
  const tags = async () => (await at.hub.session(session)).tags ?? []
  if (touch) await tap(page.getByRole('button', { name: 'Details', exact: true }))
  const details = page.getByRole(touch ? 'dialog' : 'complementary', { name: 'Details' })
  const field = details.getByRole('combobox', { name: 'Add a tag' })
  const release = `release ${size.width}`
  for (const tag of [release, 'needs review']) {
    await field.fill(` ${tag} `)
    await page.keyboard.press('Enter')
    await details.getByText(tag, { exact: true }).waitFor()
    await expect.poll(() => field.inputValue()).toBe('')
  }
  await expect.poll(() => tags()).toEqual([release, 'needs review'])
  await field.fill('a,b')
  await page.keyboard.press('Enter')
  await details.getByText('a tag has 1 to 40 printable characters and no comma').waitFor()
  expect(await field.inputValue(), 'what was typed stays').toBe('a,b')
  await field.fill('')
  await shot(screen, `tags-details-${size.width}`)
  if (touch) await expect.poll(() => smallTargets(page)).toEqual([])
  expect(await barriers(page)).toEqual([])
  const remove = details.getByRole('button', { name: 'Remove the tag needs review' })
  if (touch) await tap(remove)
  else {
    await remove.focus()
    await page.keyboard.press('Enter')
  }
  await until('the tag removed', async () => (await tags()).join() === release)
  await remove.waitFor({ state: 'detached' })
  if (!touch)
    await until('the field to have the focus', () => field.evaluate((e) => e === document.activeElement))

  if (touch) await page.goto(at.hub.origin)
  const row = (text: string) => page.locator('[data-row]', { hasText: text })
  await row(`Other ${size.width}`).waitFor()
  const tag = row(name).getByRole('button', { name: `Tag: ${release}` })
  await tag.waitFor()
  await shot(screen, `tags-list-${size.width}`)
  if (touch) await expect.poll(() => smallTargets(page)).toEqual([])
  if (touch) await pressFor(page.locator('[data-filter=tag]'), () => tap(tag))
  else await tag.click()
  await row(`Other ${size.width}`).waitFor({ state: 'detached' })
  await expect.poll(() => page.locator('[data-row] .name').allInnerTexts()).toEqual([name])
  await expect.poll(() => page.locator('[data-filter=tag]').inputValue()).toBe(release)
  await shot(screen, `tags-filter-${size.width}`)
  expect(await barriers(page)).toEqual([])
  expect(screen.errors.filter((error) => !error.includes('400'))).toEqual([])
  await page.close()
})
