// The list acts: interrupted sessions are resumed together or from their rows, short questions are answered there.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { pressFor, tap } from './rig/touch.ts'

const at = paired()

test('seven sessions that a restart interrupted are resumed by one tap, or some of them', async () => {
  const all: string[] = []
  for (let n = 1; n <= 7; n++) {
    const session = await at.hub.newSession(`Job ${n}`, 'paced')
    await at.hub.prompt(session, '/slow 3600')
    await at.hub.event(session, 'agent_message')
    all.push(session)
  }
  await at.hub.kill()
  await at.hub.start()
  const screen = await at.device.open('/', phone)
  const { page } = screen
  const banner = page.getByRole('region', { name: 'Interrupted sessions' })
  await banner.getByText('7 sessions were interrupted.').waitFor()
  await expect
    .poll(() => page.locator('[data-entry]', { hasText: 'Interrupted: the hub restarted.' }).count())
    .toBe(7)
  expect(await barriers(page)).toEqual([])
  await shot(screen, 'together-390')

  await tap(banner.getByRole('button', { name: 'Choose' }))
  const selected = page.getByRole('group', { name: 'Selected sessions' })
  await selected.getByText('7 selected').waitFor()
  await shot(screen, 'together-chosen-390')
  for (const n of [1, 2, 3, 4, 5, 6]) {
    const box = page.getByRole('checkbox', { name: new RegExp(`Job ${n}`) })
    await pressFor(selected.getByText(`${7 - n} selected`), () => tap(box))
  }
  await tap(selected.getByRole('button', { name: 'Resume' }))
  expect((await at.hub.event(all[6]!, 'interruption_settled')).data.outcome).toBe('resumed')
  await banner.getByText('6 sessions were interrupted.').waitFor()
  const asks = (job: string) =>
    page.locator('[data-entry]', { hasText: job }).getByText('Allow: Write GREETING.md?').waitFor()
  await asks('Job 7') // its row moves up, and those that are tapped move with it

  const row = page.locator('[data-row]', { hasText: 'Job 6' })
  const item = page.getByRole('menuitem', { name: 'Resume', exact: true })
  await pressFor(item, () => tap(row.getByRole('button', { name: 'More: Job 6' })))
  await shot(screen, 'together-row-390')
  await tap(item)
  expect((await at.hub.event(all[5]!, 'interruption_settled')).data.outcome).toBe('resumed')

  await banner.getByText('5 sessions were interrupted.').waitFor()
  await asks('Job 6')
  await tap(banner.getByRole('button', { name: 'Resume all' }))
  for (const session of all.slice(0, 5))
    expect((await at.hub.event(session, 'interruption_settled')).data.outcome).toBe('resumed')
  await banner.waitFor({ state: 'detached' })
  for (const session of all) await at.hub.api('POST', `/api/sessions/${session}/cancel`)
  expect(screen.errors).toEqual([])
  await page.close()
})

test.each([
  { how: 'by touch', size: phone },
  { how: 'at a desk', size: desktop },
])('a short question is answered in the menu of its row, $how', async ({ size }) => {
  const session = await at.hub.newSession(`Asks ${size.width}`)
  await at.hub.prompt(session, '/ask')
  await at.hub.event(session, 'permission_request')
  const screen = await at.device.open('/', size)
  const { page } = screen
  const row = page.locator('[data-row]', { hasText: `Asks ${size.width}` })
  await row.hover()
  const more = row.getByRole('button', { name: /^More: / })
  const allow = page.getByRole('menuitem', { name: /^Allow/ })
  await pressFor(allow, () => (size === phone ? tap(more) : more.click()))
  expect(await barriers(page)).toEqual([])
  await shot(screen, `row-answers-${size.width}`)
  await (size === phone ? tap(allow) : allow.click())
  expect((await at.hub.event(session, 'permission_outcome')).data.outcome).toBe('selected')
  expect(screen.errors).toEqual([])
  await page.close()
})

test('a session that nothing was asked in is listed when it is asked for', async () => {
  const named = await at.hub.newSession('Named')
  const { session_id: blank } = await at.hub.api<{ session_id: string }>('POST', '/api/sessions', {
    agent: 'demo',
    workspace: at.hub.workspace,
  })
  const screen = await at.device.open('/', phone)
  const { page } = screen
  await page.locator(`[data-row="${named}"]`).waitFor()
  const row = page.locator(`[data-row="${blank}"]`)
  expect(await row.count()).toBe(0)
  await tap(page.getByRole('button', { name: 'Without a prompt (1)' }))
  await row.waitFor()
  await at.hub.turn(blank, '/plan')
  await page.getByRole('button', { name: /without a prompt/i }).waitFor({ state: 'detached' })
  await row.waitFor()
  expect(screen.errors).toEqual([])
  await page.close()
})
