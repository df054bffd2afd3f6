// A deleted session lies in the trash: Undo and Settings bring it back as it was.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

const at = paired()
const desk: Size = { width: 1280, height: 800 }

for (const size of [phone, desk])
  test(`a deleted session comes back by Undo, and by Settings, at ${size.width}`, async () => {
    const name = `Garden ${size.width}`
    const id = await at.hub.newSession(name)
    await at.hub.newSession(`Pond ${size.width}`)
    const screen = await at.device.watch(id, size)
    const { page, errors } = screen
    const button = (label: string) => page.getByRole('button', { name: label, exact: true })
    const row = page.locator('[data-entry] .name', { hasText: name })
    const remove = async () => {
      await button('More').click()
      await page.getByRole('menuitem', { name: 'Delete…' }).click()
      await page.getByText('Delete this session? For 7 days Settings can restore it.').waitFor()
      await shot(screen, `trash-asked-${size.width}`)
      await page.getByRole('menuitem', { name: 'Delete', exact: true }).click()
      await until('the list', () => new URL(page.url()).pathname === '/')
      await page.getByText(`Deleted “${name}”.`).waitFor()
      await expect(at.hub.session(id)).rejects.toThrow('404')
    }
    await remove()
    await button('Undo').click()
    await shot(screen, `trash-undone-${size.width}`)
    // A tap just after rows have moved is not taken.
    await until('the session', async () => {
      await (size === phone ? tap(row, 1_000) : row.click({ timeout: 1_000 })).catch(() => {})
      return page.waitForURL(`**/s/${id}`, { timeout: 2_000 }).then(
        () => true,
        () => false,
      )
    })
    await screen.reaches(id, at.hub.lastSeq(id))

    await remove()
    await screen.go('/settings')
    const trash = page.getByRole('heading', { name: 'Trash' }).locator('..')
    await trash.getByText(name).waitFor()
    await trash.scrollIntoViewIfNeeded()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `trash-settings-${size.width}`)
    await trash.getByRole('button', { name: `Restore ${name}` }).click()
    await trash.waitFor({ state: 'detached' })
    await screen.go(`/s/${id}`)
    await screen.reaches(id, at.hub.lastSeq(id))
    expect(errors).toEqual([])
    await page.close()
  })

test('several are deleted at once, and the trash is emptied after a question', async () => {
  for (const name of ['One', 'Two']) await at.hub.newSession(name)
  const screen = await at.device.open('/')
  const { page, errors } = screen
  const button = (label: string) => page.getByRole('button', { name: label, exact: true })
  const one = page.locator('[data-entry]', { has: page.locator('.name', { hasText: 'One' }) })
  await one.focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Select' }).click()
  await page.getByRole('checkbox', { name: /Two/ }).focus()
  await page.keyboard.press('Enter')
  await button('Delete…').click()
  await page.getByText('Delete 2 sessions? For 7 days Settings can restore it.').waitFor()
  await button('Delete').click()
  await page.getByText('Deleted 2 sessions.').waitFor()
  await screen.go('/settings')
  const trash = page.getByRole('heading', { name: 'Trash' }).locator('..')
  await trash.getByRole('button', { name: 'Empty the trash…' }).click()
  await trash.getByRole('button', { name: 'Remove all 2 for good' }).click()
  await trash.waitFor({ state: 'detached' })
  expect((await at.hub.api<{ sessions: unknown[] }>('GET', '/api/trash')).sessions).toEqual([])
  expect(errors).toEqual([])
  await page.close()
})
