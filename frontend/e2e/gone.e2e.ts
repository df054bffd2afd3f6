import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { FaultProxy } from './rig/proxy.ts'

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

  test('and never was offers nothing to do with it, and claims no draft', async () => {
    const { page } = await device.open('/s/never-was')
    await page.getByRole('heading', { name: 'This session is no more' }).waitFor()
    expect(await page.getByText('is kept on this device').count()).toBe(0)
    for (const name of ['Details', 'More', 'Rules…', 'Agent…']) {
      expect(await page.getByRole('button', { name }).count(), name).toBe(0)
    }
    await page.close()
  })

  test('since it was deleted shows what was being written in it', async () => {
    const session = await hub.newSession('Deleted')
    const { page, composer } = await device.watch(session)
    await composer.fill('half a thought')
    await hub.deleteSession(session)
    await page.getByRole('heading', { name: 'This session is no more' }).waitFor()
    expect(await page.getByRole('group', { name: 'Draft' }).textContent()).toBe('half a thought')
    await page.close()
  })

  test('since the hub is out of reach says that this device does not have it', async () => {
    const known = await hub.newSession('Known')
    const other = await hub.newSession('Other')
    const screen = await device.watch(known)
    await proxy.tell('blackhole')
    await proxy.tell('rst')
    await screen.go(`/s/${other}`)
    const words = screen.page.getByText('This device does not have this session')
    await words.waitFor()
    await proxy.tell('heal')
    await screen.reaches(other, 1)
    expect(await words.count()).toBe(0)
    expect(screen.errors).toEqual([])
  })
})
