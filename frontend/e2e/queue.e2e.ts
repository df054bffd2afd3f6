import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole } from './rig/oracle.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { hold } from './rig/touch.ts'
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

  test('wait behind one that stops the turn, from the key, the button and the menu', async () => {
    const id = await hub.newSession('Stopped')
    const at = await laptop.watch(id)
    const by = await laptop.watch(id, phone)
    const button = at.page.getByRole('button', { name: 'Stop and send' })
    await at.prompt('/ask')
    await at.permission.waitFor()
    expect(await button.count(), 'without a text').toBe(0)
    await at.prompt('/slow 1')
    await at.page.getByText('1 queued').waitFor()

    await at.composer.fill('/ask by key')
    await shot(at, 'stop-and-send-1280')
    await at.composer.press('Control+Shift+Enter')
    const first = await hub.event(id, 'turn_end')
    expect(first.data.stop_reason).toBe('cancelled')
    await hub.event(id, 'permission_request', first.seq)

    await at.composer.fill('/ask by button')
    await button.click()
    const second = await hub.event(id, 'turn_end', first.seq)
    await hub.event(id, 'permission_request', second.seq)

    await by.composer.fill('/plan')
    const menu = by.page.getByRole('menu', { name: 'Send' })
    await hold(by.page.getByRole('button', { name: 'Queue', exact: true }), menu)
    await shot(by, 'stop-and-send-390')
    await expect
      .poll(() => menu.getByRole('menuitem').allInnerTexts())
      .toEqual(['Queue', 'Stop and send', 'Send later…', 'Run in background…'])
    await menu.getByRole('menuitem', { name: 'Stop and send' }).click()
    await hub.event(id, 'turn_end', second.seq)

    const last = await until('the prompt that waited', () =>
      hub.events(id).find((e) => e.type === 'user_prompt' && e.data.text === '/slow 1'),
    )
    await hub.event(id, 'turn_end', last.seq)
    const asked = hub.events(id).flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))
    expect(asked).toEqual(['/ask', '/ask by key', '/ask by button', '/plan', '/slow 1'])
    await expectWhole(at, hub, id)
    for (const s of [at, by]) await s.page.close()
  })
})
