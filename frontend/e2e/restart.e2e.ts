import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole, saidNumbers } from './rig/oracle.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'
import { elapse, until } from './rig/until.ts'

describe('a hub that dies in mid-stream', () => {
  let hub: Hub
  let laptop: Device
  let one: Screen
  let two: Screen
  let session: string

  beforeAll(async () => {
    hub = await Hub.start({ race: true })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  test.each(['/slow 3600', '/burst 100000'])(
    'leaves two pages with exactly the log, after %s',
    async (prompt) => {
      session = await hub.newSession('Killed', 'paced')
      one = await laptop.watch(session)
      two = await laptop.watch(session)
      await one.prompt(prompt)
      await until('some of the answer on both pages', async () => {
        const seen = await Promise.all([one.facts(), two.facts()])
        return seen.every((f) => f.seq > 30)
      })
      await hub.kill()
      expect(
        hub.events(session).some((e) => e.type === 'turn_end'),
        'killed before the turn was over',
      ).toBe(false)
      await until('both pages to notice', async () => {
        const seen = await Promise.all([one.facts(), two.facts()])
        return seen.every((f) => f.link !== 'open')
      })
      await hub.start()
      const end = await hub.event(session, 'turn_end')
      expect(end.data.stop_reason).toBe('hub_restart')
      expect(saidNumbers(hub.events(session)).length).toBeGreaterThan(10)
      await expectWhole(one, hub, session)
      await expectWhole(two, hub, session)
    },
  )

  test('serves the next prompt to both pages as usual', async () => {
    const before = hub.lastSeq(session)
    await one.prompt('/slow 2')
    await hub.event(session, 'turn_end', before)
    await expectWhole(one, hub, session)
    await expectWhole(two, hub, session)
  })
})

test('a page reconnects by itself to a hub that was down for many connection attempts', async () => {
  const hub = await Hub.start()
  const laptop = await Device.pair(hub)
  const session = await hub.newSession('Away')
  await hub.turn(session, '/slow 1')
  const screen = await laptop.watch(session)
  let dials = 0
  screen.page.on('websocket', () => dials++)
  await hub.kill()
  await until('six failed connection attempts', () => Promise.resolve(dials >= 6))
  await hub.start()
  await screen.page.locator('html[data-link=open]').waitFor()
  await expectWhole(screen, hub, session)
  await laptop.stop()
  expect(await hub.stop()).toBe(0)
})

describe('a bad network', () => {
  let hub: Hub
  let proxy: FaultProxy
  let phone: Device
  let laptop: Device

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr], race: true })
    await proxy.to(hub.addr)
    laptop = await Device.pair(hub)
    phone = await Device.pair(hub, { origin: proxy.origin })
  })
  afterAll(async () => {
    await phone.stop()
    await laptop.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  const faults = [
    { name: 'a stall that heals', fault: ['stall'], heals: true },
    { name: 'a reset', fault: ['rst'], heals: false },
    // The page notices these only after a long silence.
    { name: 'a stranded connection', fault: ['strand'], heals: false },
    { name: 'a blackhole after a reset', fault: ['blackhole', 'rst'], heals: true },
    { name: 'an orderly end', fault: ['fin'], heals: false },
  ]

  test.each(faults)(
    '$name on one page does not affect the other, and both end with exactly the log',
    async (f) => {
      const session = await hub.newSession(f.name, 'paced')
      const near = await laptop.watch(session)
      const far = await phone.watch(session)
      await near.prompt('/slow 3600')
      await until('the stream at the far page', async () => (await far.facts()).seq > 30)
      for (const command of f.fault) await proxy.tell(command)
      await near.reaches(session, hub.lastSeq(session) + 20)
      await hub.api('POST', `/api/sessions/${session}/cancel`)
      await hub.event(session, 'turn_end')
      // The near page has all events while the far one does not have them yet.
      await expectWhole(near, hub, session)
      if (f.heals) {
        expect((await far.facts()).seq).toBeLessThan(hub.lastSeq(session))
        await elapse(300)
        await proxy.tell('heal')
      }
      await expectWhole(far, hub, session)
      await far.page.close()
      await near.page.close()
      // The browser's pooled HTTP connections are dead too, so reset them.
      await proxy.tell('rst')
    },
  )
})
