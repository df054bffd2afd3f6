import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { FaultProxy } from './rig/proxy.ts'
import { stored } from './rig/stored.ts'

describe('a session that cannot be shown', () => {
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

  test('because it never existed offers no actions, and shows no draft', async () => {
    const { page } = await device.open('/s/never-was')
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    expect(await page.getByText('is kept on this device').count()).toBe(0)
    for (const name of ['Details', 'More', 'Rules…', 'Agent…']) {
      expect(await page.getByRole('button', { name }).count(), name).toBe(0)
    }
    await page.close()
  })

  test('because it was deleted shows its draft', async () => {
    const session = await hub.newSession('Deleted')
    const { page, composer } = await device.watch(session)
    await composer.fill('half a thought')
    await hub.deleteSession(session)
    await page.getByRole('heading', { name: 'Session not found' }).waitFor()
    await expect.poll(() => page.getByRole('group', { name: 'Draft' }).textContent()).toBe('half a thought')
    await page.close()
  })

  test('because it was deleted before a prompt arrived keeps its text, and reports that on other screens', async () => {
    const session = await hub.newSession('Deleted meanwhile')
    const screen = await device.watch(session)
    for (const fault of ['blackhole', 'rst']) await proxy.tell(fault)
    await screen.page.locator('html:not([data-link=open])').waitFor()
    await screen.prompt('on its way for long')
    await screen.page.locator('[data-outbox]').waitFor()
    await screen.go('/')
    await hub.deleteSession(session)
    for (const mend of ['heal', 'rst']) await proxy.tell(mend) // dead connections would fill the browser's pool
    await screen.page.getByText('“on its way for long” was not asked: its session was deleted.').waitFor()

    await screen.go(`/s/${session}`)
    await screen.page.getByRole('heading', { name: 'Session not found' }).waitFor()
    const words = screen.page.getByRole('group', { name: 'Your prompt' })
    await expect.poll(() => words.textContent()).toBe('on its way for long')
    await screen.page.reload()
    await words.waitFor()
    await screen.page.getByRole('button', { name: 'Discard' }).click()
    await words.waitFor({ state: 'detached' })
    await screen.page.reload()
    await screen.page.getByRole('heading', { name: 'Session not found' }).waitFor()
    await expect.poll(() => words.count()).toBe(0)
    await expect.poll(() => stored(screen.page, 'outbox')).toEqual([])
    await screen.page.close()
  })

  test('because the hub is unreachable says that this device does not have it', async () => {
    const known = await hub.newSession('Known')
    const other = await hub.newSession('Other')
    const screen = await device.watch(known)
    await proxy.tell('blackhole')
    await proxy.tell('rst')
    await screen.go(`/s/${other}`)
    const words = screen.page.getByText('This device does not have this session')
    await words.waitFor()
    for (const mend of ['heal', 'rst']) await proxy.tell(mend) // dead connections would fill the browser's pool
    await screen.reaches(other, 1)
    await expect.poll(() => words.count()).toBe(0)
    expect(screen.errors).toEqual([])
  })
})
