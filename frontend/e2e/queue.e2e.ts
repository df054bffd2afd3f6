import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole } from './rig/oracle.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('prompts written while the agent is busy', () => {
  let hub: Hub
  let laptop: Device
  let screen: Screen
  let other: Screen
  let session: string

  beforeAll(async () => {
    hub = await Hub.start({ race: true })
    laptop = await Device.pair(hub)
    session = await hub.newSession('Busy')
    screen = await laptop.watch(session)
    other = await laptop.watch(session)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const texts = async (s: Screen) =>
    (await s.page.getByRole('region', { name: 'Queue' }).locator('li .text').allTextContents()).map((t) =>
      t.trim(),
    )
  const item = (s: Screen, text: string) =>
    s.page.getByRole('region', { name: 'Queue' }).getByRole('listitem').filter({ hasText: text })

  async function shows(...want: string[]): Promise<void> {
    for (const s of [screen, other]) {
      await until(
        `the queue to be ${want.join(', ')}`,
        async () => String(await texts(s)) === String(want),
      ).catch(async (error: Error) => {
        throw new Error(`${error.message}; it is ${String(await texts(s))}`)
      })
    }
  }

  test('wait in order, and every screen sees them', async () => {
    for (const text of ['first thing', 'second thing', 'third thing']) {
      await screen.prompt(text)
      await screen.page
        .getByRole('region', { name: 'Queue' })
        .getByText(text)
        .or(screen.page.getByText(/\d queued/))
        .first()
        .waitFor()
    }
    for (const s of [screen, other]) {
      await s.page.getByText('3 queued').waitFor()
      await s.page.getByText('3 queued').click()
    }
    await shows('first thing', 'second thing', 'third thing')
  })

  test('are changed, moved and removed by any screen', async () => {
    await item(screen, 'second thing').getByRole('button', { name: 'Edit' }).click()
    await screen.page.getByLabel('Queued prompt').fill('/slow 1')
    await screen.page.getByRole('button', { name: 'Save' }).click()
    await shows('first thing', '/slow 1', 'third thing')
    await item(screen, 'first thing').getByRole('button', { name: 'Edit' }).click()
    await screen.page.getByRole('button', { name: 'Save' }).click()
    await screen.page.getByLabel('Queued prompt').waitFor({ state: 'detached' })
    await item(other, 'third thing').getByRole('button', { name: 'Earlier' }).click()
    await shows('first thing', 'third thing', '/slow 1')
    await item(other, 'first thing').getByRole('button', { name: 'Later' }).click()
    await shows('third thing', 'first thing', '/slow 1')
    await item(screen, 'first thing').getByRole('button', { name: 'Remove' }).click()
    await shows('third thing', '/slow 1')
    await item(screen, 'third thing').getByRole('button', { name: 'Remove' }).click()
    await shows('/slow 1')
  })

  test('survive a hub that is killed, and run once when the turn is over', async () => {
    await hub.kill()
    await hub.start()
    // The crash interrupted the turn, so the queued prompt runs now.
    const prompt = await until('the queued prompt in the log', () =>
      hub.events(session).find((e) => e.type === 'user_prompt' && e.data.text === '/slow 1'),
    )
    await hub.event(session, 'turn_end', prompt.seq)
    await hub.idle(session)
    const asked = hub.events(session).flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))
    expect(asked).toEqual(['/ask', '/slow 1'])
    for (const s of [screen, other]) {
      await expectWhole(s, hub, session)
      await s.page.getByRole('region', { name: 'Queue' }).waitFor({ state: 'detached' })
    }
  })
})
