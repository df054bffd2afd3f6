import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { phone as phoneSize } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { keepSummary } from './rig/inpage.ts'
import { openNaive } from './rig/naive.ts'
import { expectWhole } from './rig/oracle.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'
import { fallAsleep, type Sleep } from './rig/sleep.ts'
import { elapse, until } from './rig/until.ts'

/**
 * The time in which a page must have all events after a wake behind a dead connection. Where it is measured, by make
 * soak, it is below the 16 s of silence after which a page sends a probe without noticing a wake.
 */
const awake = process.env['ABIDE_SOAK'] === undefined ? 60_000 : 14_000

describe('a phone that sleeps', () => {
  let hub: Hub
  let proxy: FaultProxy
  let phone: Device
  let session: string
  let screen: Screen | undefined

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr], race: true })
    await proxy.to(hub.addr)
    phone = await Device.pair(hub, { origin: proxy.origin, size: phoneSize })
  })
  afterEach(async () => {
    await screen?.page.close()
    screen = undefined
    await proxy.tell('rst')
  })
  afterAll(async () => {
    await phone.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  /**
   * Adds 500 events to the session while the phone is stopped, and breaks its connection
   * meanwhile. The events from before the break are in the phone's buffers and look like
   * a live connection when it wakes.
   */
  async function sleepThrough(dies: () => Promise<void>): Promise<void> {
    phone.browser.freeze()
    await hub.turn(session, '/burst 100')
    await elapse(2_500)
    await dies()
    await hub.turn(session, '/burst 400')
    phone.browser.thaw()
  }

  async function fresh(): Promise<void> {
    session = await hub.newSession('Sleeps')
    await hub.turn(session, '/slow 1')
  }

  test('missing 500 events behind a dead connection, shows exactly the log after the wake, with at most two sockets', async () => {
    await fresh()
    screen = await phone.watch(session, phoneSize)
    await sleepThrough(() => proxy.tell('strand'))
    await expectWhole(screen, hub, session, awake)
    expect((await screen.watched()).most).toBeLessThanOrEqual(2)
  })

  test('with a visible page, summarises what was missed, and jumps to the first missed event', async () => {
    await fresh()
    screen = await phone.watch(session, phoneSize)
    await screen.page.evaluate(keepSummary)
    // Changes the page's clock so that a sleep of seconds looks like one of minutes.
    await screen.page.evaluate(() => {
      const real = Date.now
      let [last, more] = [real(), 0]
      Date.now = () => {
        const now = real()
        if (now - last > 4_000) more += 70_000
        last = now
        return now + more
      }
    })
    await elapse(2_500) // the page has looked at its clock
    const first = hub.lastSeq(session) + 1
    phone.browser.freeze()
    await hub.turn(session, '/burst 500')
    await hub.prompt(session, '/ask')
    await hub.event(session, 'permission_request', first)
    await elapse(5_000)
    phone.browser.thaw()
    const card = screen.page.getByRole('region', { name: 'While you were away' })
    await card.waitFor()
    await expect.poll(() => card.textContent()).toMatch(/\d min away · .*1 question waiting/)
    await card.getByRole('button', { name: 'Jump to first unread' }).click()
    await screen.page.locator(`article[data-seq="${first}"]`).waitFor()
    expect(screen.errors).toEqual([])
  })

  test('with a prompt whose receipt was lost, sends it again, and it runs once', async () => {
    await fresh()
    screen = await phone.watch(session, phoneSize)
    await proxy.tell('mute')
    const before = hub.lastSeq(session)
    await screen.prompt('/burst 50')
    await hub.event(session, 'turn_end', before)
    expect(await screen.page.locator('[data-outbox]').count(), 'prompts still in the outbox').toBe(1)
    phone.browser.freeze()
    await elapse(2_500)
    phone.browser.thaw()
    await until(
      'the outbox to be empty',
      async () => (await screen!.page.locator('[data-outbox]').count()) === 0,
    )
    await hub.idle(session)
    await expectWhole(screen, hub, session, awake)
    expect(hub.events(session).filter((e) => e.type === 'user_prompt')).toHaveLength(2)
  })

  test('is really tested: a naive client that keeps its dead socket fails', async () => {
    await fresh()
    screen = await openNaive(phone, session)
    await expectWhole(screen, hub, session, awake)
    await sleepThrough(() => proxy.tell('strand'))
    await expect(expectWhole(screen, hub, session, awake)).rejects.toThrow(/did not reach seq/)
  })

  test('is really tested: a naive client that loads the newest events again fails', async () => {
    await fresh()
    screen = await openNaive(phone, session)
    await expectWhole(screen, hub, session, awake)
    await sleepThrough(() => proxy.tell('rst'))
    await expect(expectWhole(screen, hub, session, awake)).rejects.toThrow(/every event of the log once/)
  })

  test.each<Sleep>(['freeze', 'stop'])('really sleeps: not one timer runs during %s', async (how) => {
    await fresh()
    screen = await phone.watch(session, phoneSize)
    await screen.page.evaluate(() => {
      const ticks: number[] = []
      Object.assign(window, { ticks })
      setInterval(() => ticks.push(Date.now()), 10)
    })
    const ticks = () => screen!.page.evaluate(() => (window as unknown as { ticks: number[] }).ticks)
    await until('some ticks', async () => (await ticks()).length > 5)
    const wake = await fallAsleep(how, phone, screen)
    // Timers that were already running may still fire, on a busy machine after a while.
    await elapse(1_000)
    const from = Date.now()
    await elapse(1_500)
    const to = Date.now()
    await wake()
    await until('ticks of a page that woke', async () => (await ticks()).some((at) => at > to))
    expect((await ticks()).filter((at) => at > from && at < to)).toEqual([])
  })
})
