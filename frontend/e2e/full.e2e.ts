// A device whose storage is full: actions still work, and a note says what could be lost.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole } from './rig/oracle.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'
import { stored } from './rig/stored.ts'
import { until } from './rig/until.ts'

let hub: Hub
let proxy: FaultProxy
let device: Device
beforeAll(async () => {
  proxy = await FaultProxy.start()
  hub = await Hub.start({ publicNames: [proxy.addr] })
  await proxy.to(hub.addr)
  device = await Device.pair(hub, { origin: proxy.origin })
})
afterAll(async () => {
  await device.stop()
  await proxy.stop()
  expect(await hub.stop()).toBe(0)
})

/** Makes writes to localStorage and the databases fail in the page. A quota set in Chromium covers only some of them. */
async function fill(screen: Screen): Promise<void> {
  await screen.page.evaluate(() => {
    const refuse = () => {
      throw new DOMException('no room', 'QuotaExceededError')
    }
    Storage.prototype.setItem = refuse
    IDBObjectStore.prototype.add = IDBObjectStore.prototype.put = refuse
  })
}

test('a prompt is sent once, also after a lost connection; a draft stays while the page does, and a note says so', async () => {
  const session = await hub.newSession('Full')
  const other = await hub.newSession('Other')
  await hub.turn(session, '/slow 1')
  const screen = await device.watch(session, desktop)
  await fill(screen)
  const said = screen.page.getByText('This device’s storage is full or closed to the app')
  const prompts = () => hub.events(session).filter((e) => e.type === 'user_prompt')

  await screen.composer.pressSequentially('/burst 50')
  await said.waitFor()
  await screen.go(`/s/${other}`)
  await screen.reaches(other, 1)
  await expect.poll(() => screen.composer.inputValue()).toBe('')
  await expect.poll(() => said.count(), { message: 'of a draft that is empty' }).toBe(0)
  await screen.go(`/s/${session}`)
  await screen.reaches(session, 1)
  await until('the draft again', async () => (await screen.composer.inputValue()) === '/burst 50')
  await said.waitFor()

  await proxy.tell('blackhole')
  await proxy.tell('rst')
  await screen.composer.press('Control+Enter')
  await screen.page.locator('[data-outbox]').waitFor()
  await said.waitFor({ state: 'detached' })
  await expect
    .poll(() => stored(screen.page, 'outbox'), { message: 'the device has no room for it' })
    .toEqual([])
  await proxy.tell('heal')
  await proxy.tell('rst')
  await until('the prompt', () => prompts().length === 2)
  await hub.event(session, 'turn_end', prompts()[1]!.seq)
  await screen.page.locator('[data-outbox]').waitFor({ state: 'detached' })

  await screen.prompt('/slow 1')
  await until('a prompt with a network', () => prompts().length === 3)
  await hub.event(session, 'turn_end', prompts()[2]!.seq)
  await hub.idle(session)
  await expectWhole(screen, hub, session)
  expect(prompts().map((e) => e.data.text)).toEqual(['/slow 1', '/burst 50', '/slow 1'])
  expect(screen.errors).toEqual([])
})
