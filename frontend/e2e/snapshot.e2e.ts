// What the hub saves of a session: the open entries of the plan, and the session before its events are here.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { smallTargets } from './rig/targets.ts'
import { until } from './rig/until.ts'

const at = paired()

test('what is left of a plan is offered, and a tap writes it into the message', async () => {
  const id = await at.hub.newSession('Half a plan')
  const screen = await at.device.watch(id, phone)
  const { page } = screen
  await at.hub.prompt(id, '/delegate 1')
  const offered = page.getByRole('group', { name: 'Left of the plan' }).getByRole('button')
  await offered.first().waitFor()
  await expect.poll(() => offered.allInnerTexts()).toEqual(['Read one file', 'Report'])
  expect(await barriers(page)).toEqual([])
  await expect.poll(() => smallTargets(page)).toEqual([])
  await shot(screen, 'suggestions')

  await offered.first().click()
  const composer = page.locator('[data-composer]')
  await until('the words', async () => (await composer.inputValue()) === 'Read one file')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('.prompt', { hasText: 'Read one file' }).waitFor()
  expect(await offered.count(), 'nothing is offered during a turn').toBe(0)
  expect(screen.errors).toEqual([])
  await page.close()
})

test('a session shows what was saved until its events are here', async () => {
  const id = await at.hub.newSession('Saved before')
  await at.hub.prompt(id, 'Say hello to the *early* reader')
  await until('the snapshot', async () => {
    const saved = await at.hub
      .api('GET', `/api/sessions/${id}/snapshot?saved=true`)
      .then((answer) => JSON.stringify(answer), String)
    return saved.includes('"assistant"')
  })
  const page = await at.device.browser.window(phone)
  let open = () => {}
  await page.routeWebSocket(/\/api\//, (client) => {
    open = () => void client.connectToServer() // until then it says nothing
  })
  await page.goto(`${at.device.origin}/s/${id}`)
  const early = page.getByRole('region', { name: 'The session as it was saved' })
  await early.getByText('Say hello to the *early* reader').first().waitFor()
  await early.getByText('As saved at').waitFor()
  expect(await barriers(page)).toEqual([])
  open()
  await page
    .getByRole('feed', { name: 'Session' })
    .getByText('Say hello to the *early* reader')
    .first()
    .waitFor()
  await expect.poll(() => early.count()).toBe(0)
  await page.close()
})
