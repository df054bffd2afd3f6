import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'

describe('a device whose sign-in was revoked', () => {
  let hub: Hub
  let laptop: Device

  beforeAll(async () => {
    hub = await Hub.start()
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('says so, also after a reload, and has the draft again once it is paired', async () => {
    const session = await hub.newSession('Cut off')
    const { page, composer } = await laptop.watch(session)
    await composer.fill('half a thought')
    const { devices } = await hub.api<{ devices: { id: string; current?: true }[] }>('GET', '/api/devices')
    for (const { id } of devices.filter((d) => !d.current)) await hub.api('DELETE', `/api/devices/${id}`)

    const signedOut = page.getByRole('heading', { name: 'This device is signed out' })
    await signedOut.waitFor()
    await page.getByText('kept on this device').waitFor()
    await page.reload()
    await signedOut.waitFor()
    await page.getByLabel('Pairing link or code').fill(hub.pairLink())
    await page.getByRole('button', { name: 'Pair' }).click()
    await composer.waitFor()
    expect(await composer.inputValue()).toBe('half a thought')
  })
})
