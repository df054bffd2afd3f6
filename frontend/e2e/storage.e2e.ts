// Settings say what sessions take, and a clean-up lists what goes before it goes.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'
import type { CleanedStorage } from '../src/wire/gen.ts'

const at = paired({ hub: { config: 'storage: {quota_mib: 1, warn_at: 0.00001, clean: {after: 1s}}\n' } })
const desk: Size = { width: 1280, height: 800 }

for (const size of [phone, desk])
  test(`old sessions are listed and put into the trash, at ${size.width}`, async () => {
    const { hub } = at
    const [old, pinned] = [`Old ${size.width}`, `Pinned ${size.width}`]
    const ids = [await hub.newSession(old), await hub.newSession(pinned)]
    for (const id of ids) await hub.api('POST', `/api/sessions/${id}/end`, {})
    await hub.api('PATCH', `/api/sessions/${ids[1]}`, { pinned: true })
    const screen = await at.device.open('/settings', size)
    const { page, errors } = screen
    const press = (name: string | RegExp) => {
      const button = page.getByRole('button', { name })
      return size === phone ? tap(button) : button.click()
    }
    const storage = page.getByRole('heading', { name: 'Storage' }).locator('..')
    await storage.getByText('The space for sessions is nearly used up.').waitFor()
    await storage.getByText('By kind, project, session, week').click()
    await storage.getByText('By week').scrollIntoViewIfNeeded()
    await shot(screen, `storage-${size.width}`)
    expect(await barriers(page)).toEqual([])
    // A session is old after a second here.
    await until('it is old', async () => {
      const { sessions } = await hub.api<CleanedStorage>('POST', '/api/storage/clean', { dry_run: true })
      return sessions.some((s) => s.session_id === ids[0])
    })
    await press('Clean up…')
    const dialog = page.getByRole('dialog', { name: 'Clean up' })
    await dialog.getByText(old).waitFor()
    await dialog.getByText('1 pinned').waitFor()
    expect(await dialog.getByText(pinned).count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await shot(screen, `storage-clean-${size.width}`)
    await dialog.getByRole('checkbox', { name: 'Completed' }).uncheck()
    await dialog.getByText('No session goes.').waitFor()
    for (const name of ['Failed', 'Expired']) await dialog.getByRole('checkbox', { name }).uncheck()
    await dialog.getByText('Choose at least one kind of session.').waitFor()
    expect(await dialog.getByRole('button', { name: /^Put/ }).count()).toBe(0)
    for (const name of ['Completed', 'Failed', 'Expired'])
      await dialog.getByRole('checkbox', { name }).check()
    await dialog.getByText(old).waitFor()
    await press(/^Put 1 session into the trash$/)
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: `Restore ${old}` }).waitFor()
    await expect(hub.session(ids[0]!)).rejects.toThrow('404')
    await hub.session(ids[1]!)
    await hub.api('DELETE', `/api/sessions/${ids[1]}?forever=true`)
    expect(errors).toEqual([])
    await page.close()
  })

test('the palette leads there', async () => {
  const { page, errors } = await at.device.open('/', desk)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command or session' }).fill('disk space')
  await page.getByRole('option', { name: /^Storage/ }).waitFor()
  await page.keyboard.press('Enter')
  await until('the heading', () =>
    page.evaluate(() => document.activeElement?.id === 'storage' && location.pathname === '/settings'),
  )
  expect(errors).toEqual([])
})
