// What can be resumed is offered once when the app is launched.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { smallTargets } from './rig/targets.ts'
import { until } from './rig/until.ts'

const at = paired()

test.each([
  { on: 'a phone', size: phone },
  { on: 'a desktop', size: { width: 1280, height: 800 } },
])('paused sessions are offered at launch, resumed, and put away, on $on', async ({ size }) => {
  const names = [`Older ${size.width}`, `Newer ${size.width}`]
  const ids: string[] = []
  for (const name of names) {
    const id = await at.hub.newSession(name)
    ids.push(id)
    await at.hub.api('POST', `/api/sessions/${id}/pause`)
    await until('the pause', async () => (await at.hub.session(id)).resumable === true)
  }
  const screen = await at.device.open('/', size)
  const { page } = screen
  const offer = page.getByRole('region', { name: 'Resume', exact: true })
  await offer.waitFor()
  const offered = () => offer.locator('.line p:first-child').allInnerTexts()
  expect((await offered()).slice(0, 2), 'newest first').toEqual([...names].reverse())
  expect(await barriers(page)).toEqual([])
  if (size === phone) await expect.poll(() => smallTargets(page)).toEqual([])
  await shot(screen, `launch-${size.width}`)

  await offer.getByRole('button', { name: `Resume ${names[0]}` }).click()
  await page.waitForURL(`**/s/${ids[0]}`)
  await until('the session resumed', async () => (await at.hub.session(ids[0]!)).resume_count === 1)
  await page.goBack()
  await page.locator('[data-row]', { hasText: names[1]! }).waitFor()
  expect(await offer.count(), 'it is offered once').toBe(0)

  await page.reload()
  await offer.waitFor()
  await expect.poll(() => offered()).not.toContain(names[0])
  await offer.getByRole('button', { name: 'Hide this offer' }).click()
  await offer.waitFor({ state: 'detached' })
  await page.reload()
  await offer.getByRole('button', { name: 'Start new session' }).click()
  await page.getByRole('dialog', { name: 'New session' }).waitFor()
  await expect.poll(() => offer.count()).toBe(0)
  expect(screen.errors).toEqual([])
  await page.close()
})

test('what is paused after the launch is not offered', async () => {
  const screen = await at.device.open('/', { width: 1280, height: 800 })
  const id = await at.hub.newSession('Paused later')
  const row = screen.page.locator('[data-row]', { hasText: 'Paused later' })
  await row.waitFor()
  await at.hub.api('POST', `/api/sessions/${id}/pause`)
  await row.getByRole('img', { name: 'Paused' }).waitFor()
  expect(await screen.page.getByRole('button', { name: 'Resume Paused later' }).count()).toBe(0)
  await screen.page.close()
})

test('a session is marked to be resumed, is offered at launch, and the mark is taken away', async () => {
  const id = await at.hub.newSession('Marked')
  const screen = await at.device.open(`/s/${id}`, { width: 1280, height: 800 })
  const { page } = screen
  const command = async (name: RegExp) => {
    await page.getByRole('textbox', { name: 'Prompt' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Command or session' }).fill('Offer to resume')
    await page.getByRole('option', { name }).waitFor()
    await page.keyboard.press('Enter')
  }
  await command(/^Offer to resume/)
  await until('the mark', async () => (await at.hub.session(id)).resumable === true)
  await page.goto(new URL('/', page.url()).href)
  await page.getByRole('button', { name: 'Resume Marked' }).click()
  await page.waitForURL(`**/s/${id}`)
  await until('the session resumed', async () => (await at.hub.session(id)).resume_count === 1)
  await command(/^Offer to resume/)
  await until('the mark', async () => (await at.hub.session(id)).resumable === true)
  await command(/^Do not offer to resume/)
  await until('no mark', async () => (await at.hub.session(id)).resumable === undefined)
  expect(screen.errors).toEqual([])
  await page.close()
})
