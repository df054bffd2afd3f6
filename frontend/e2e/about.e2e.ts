// Settings, About this hub: the numbers of interrupted turns, also after the hub was killed.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const at = paired()

test('the numbers of interrupted turns are in Settings, and survive a kill of the hub', async () => {
  const session = await at.hub.newSession('Numbers')
  await at.hub.turn(session, '/error')
  const { interruption_id } = await at.hub.api<{ interruption_id: string }>(
    'GET',
    `/api/sessions/${session}/interruption`,
  )
  await at.hub.api('POST', `/api/sessions/${session}/resume`, { interruption_id, prompt: '/plan' })
  await at.hub.idle(session)
  const screen = await at.device.open('/settings', phone)
  const about = screen.page.locator('section').filter({ hasText: 'About this hub' }).locator('dl')
  const told = () => about.innerText()
  await expect
    .poll(told)
    .toMatch(/Interrupted turns\s+1\s+Resumed\s+1\s+Resumed successfully\s+1 of 1 \(100 %\)/)
  await expect.poll(told).toMatch(/Time until resumed\s+[\d.]+ s \(median\)/)
  await about.scrollIntoViewIfNeeded()
  expect(await barriers(screen.page)).toEqual([])
  await shot(screen, 'about-390')
  const before = await told()
  await at.hub.kill()
  await at.hub.start()
  await screen.page.reload()
  await until('the numbers', async () => (await told()) === before)
  await screen.page.close()
})
