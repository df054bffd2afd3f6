// A session that the agent has from before is continued from New session.
import { expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'

const at = paired()

test.each([
  { how: 'at 390', size: phone },
  { how: 'at a desk', size: desktop },
])('the agent’s own session is continued with its past, $how', async ({ how, size }) => {
  const asked = `/plan before, ${how}`
  const before = await at.hub.newSession('Before')
  await at.hub.turn(before, asked)
  await at.hub.kill()
  await at.hub.start() // its agent is not asked to forget it
  await at.hub.deleteSession(before)

  const screen = await at.device.open('/', size)
  const { page } = screen
  await page
    .getByRole('button', { name: /^(New session|Start your first session)$/ })
    .filter({ visible: true })
    .first()
    .click()
  await page.locator('dialog select:enabled').first().waitFor()
  await page.getByRole('button', { name: 'Continue a session of this agent…' }).click()
  const past = page.getByRole('dialog', { name: 'Continue a session of demo' })
  const one = past.getByRole('button', { name: asked })
  await one.waitFor()
  await shot(screen, `adopt-list-${size.width}`)
  expect(await barriers(page)).toEqual([])
  await one.click()
  await page.waitForURL('**/s/*')
  const feed = page.getByRole('feed')
  await feed.getByText(asked).first().waitFor()
  await feed.getByText('The plan is done.').first().waitFor()
  await feed.getByText('own past, as it told it now').first().waitFor()
  await shot(screen, `adopt-session-${size.width}`)

  const { sessions } = await at.hub.api<{ sessions: SessionInfo[] }>('GET', '/api/sessions')
  expect(sessions.filter((s) => s.adopted).length).toBe(sessions.length)
  const id = new URL(page.url()).pathname.slice('/s/'.length)
  await at.hub.turn(id, '/plan after')
  await feed.getByText('/plan after').first().waitFor()
  const started = at.hub.events(id).filter((e) => e.type === 'agent_started')
  expect(started.map((e) => e.data.resumed)).toEqual(['load', 'resume'])
  expect(screen.errors).toEqual([])
  await page.close()
})
