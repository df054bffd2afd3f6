import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'

describe('a permission request on three screens', () => {
  let hub: Hub
  let proxy: FaultProxy
  let laptop: Device
  let mobile: Device

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr] })
    await proxy.to(hub.addr)
    laptop = await Device.pair(hub)
    mobile = await Device.pair(hub, { origin: proxy.origin, size: phone })
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  async function three(session: string): Promise<[Screen, Screen, Screen]> {
    return [
      await laptop.watch(session, desktop),
      await laptop.watch(session, desktop),
      await mobile.watch(session, phone),
    ]
  }

  test('answered on one, settles on the others at once', async () => {
    const session = await hub.newSession('Asks')
    const screens = await three(session)
    await screens[0].prompt('/ask')
    for (const s of screens) await s.permission.getByText('echo hello').first().waitFor()
    await screens[2].answer('Allow once')
    for (const s of screens) await s.permission.waitFor({ state: 'detached' })
    for (const s of screens) await s.feed.getByText('Allow once —').waitFor()
    const outcomes = hub.events(session).filter((e) => e.type === 'permission_outcome')
    expect(outcomes).toHaveLength(1)
    await screens[2].feed.getByText('Allow once — You').waitFor()
    await screens[0].feed.locator('.prompt header', { hasText: 'You' }).waitFor()
    for (const s of screens) await s.page.close()
  })

  test('answered differently on two, keeps the first answer and tells the other who won', async () => {
    const session = await hub.newSession('Races')
    const [near, third, far] = await three(session)
    await near.prompt('/ask')
    for (const s of [near, third, far]) await s.permission.waitFor()
    // The far screen's answer is delayed while the near one answers.
    await proxy.tell('stall')
    await far.answer('Reject')
    await near.answer('Always allow')
    const outcome = await hub.event(session, 'permission_outcome')
    expect(outcome.data).toMatchObject({ outcome: 'selected', option_id: 'always' })
    await proxy.tell('heal')
    await far.permission.waitFor({ state: 'detached' })
    await far.page.getByText(`${outcome.data.by} answered first: your answer did not count.`).waitFor()
    expect(await near.page.getByText('your answer did not count').count()).toBe(0)
    for (const s of [near, third, far]) await s.feed.getByText('Always allow —').waitFor()
    expect(hub.events(session).filter((e) => e.type === 'permission_outcome')).toHaveLength(1)
  })
})
