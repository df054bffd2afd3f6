import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { phone as phoneSize } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole, shownBy } from './rig/oracle.ts'
import { FaultProxy } from './rig/proxy.ts'
import { stored } from './rig/stored.ts'
import { until } from './rig/until.ts'

describe('two phones and a desktop on one session', () => {
  let hub: Hub
  let proxy: FaultProxy
  let desk: Device
  let sleeper: Device
  let killed: Device

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr], race: true })
    await proxy.to(hub.addr)
    desk = await Device.pair(hub)
    sleeper = await Device.pair(hub, { size: phoneSize })
    killed = await Device.pair(hub, { origin: proxy.origin, size: phoneSize })
    // Chromium saves cookies after half a minute, or when it closes.
    await killed.browser.close()
    await killed.browser.reopen()
  })
  // A test that failed leaves nothing that the next one waits for.
  afterEach(() => sleeper.browser.thaw())
  afterAll(async () => {
    await killed.stop()
    await sleeper.stop()
    await desk.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('show the same after one slept through 500 events and one was killed with a prompt in its outbox', async () => {
    const session = await hub.newSession('Shared')
    await hub.turn(session, '/slow 1')
    const [wide, asleep, dying] = await Promise.all([
      desk.watch(session),
      sleeper.watch(session, phoneSize),
      killed.watch(session, phoneSize),
    ])
    sleeper.browser.freeze()
    const before = hub.lastSeq(session)

    // The network loses the prompt, so only the outbox has it when the phone is killed.
    await proxy.tell('blackhole')
    await proxy.tell('rst')
    await dying.prompt('/burst 60')
    await dying.page.locator('[data-outbox]').waitFor()
    await until('the prompt on the device itself', async () => {
      return (await stored(dying.page, 'outbox')).length === 1
    })
    await killed.browser.kill()
    await wide.prompt('/burst 500')
    await hub.event(session, 'turn_end', before)
    expect(hub.lastSeq(session) - before).toBeGreaterThanOrEqual(500)
    const prompts = () => hub.events(session).filter((e) => e.type === 'user_prompt')
    expect(prompts(), 'the killed phone has not been heard').toHaveLength(2)

    sleeper.browser.thaw()
    await proxy.tell('heal')
    await killed.browser.reopen()
    const revived = await killed.watch(session, phoneSize)
    await until('the prompt from the outbox', () => prompts().length === 3)
    await hub.event(session, 'turn_end', prompts()[2]!.seq)
    await hub.idle(session)
    for (const screen of [wide, asleep, revived]) await expectWhole(screen, hub, session)
    const shown = await shownBy(wide)
    expect(await shownBy(asleep)).toEqual(shown)
    expect(await shownBy(revived)).toEqual(shown)
    expect(prompts().map((e) => e.data.text)).toEqual(['/slow 1', '/burst 500', '/burst 60'])
    await revived.page.locator('[data-outbox]').waitFor({ state: 'detached' })
  })

  test('the prompts of a killed phone to two agents run once each, whichever page sends the outbox', async () => {
    const sessions = [await hub.newSession('One'), await hub.newSession('Two', 'paced')]
    for (const session of sessions) await hub.turn(session, '/slow 1')
    const all = (session: string) => hub.events(session)
    const asked = (session: string) =>
      all(session).flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))
    const phone = await killed.watch(sessions[0]!, phoneSize)
    await proxy.tell('blackhole')
    await proxy.tell('rst')
    await phone.prompt('/burst 20')
    await phone.go(`/s/${sessions[1]}`)
    await phone.composer.waitFor()
    await phone.prompt('/burst 20')
    await until('both on the device itself', async () => {
      return (await stored(phone.page, 'outbox')).length === 2
    })
    await killed.browser.kill()
    for (const session of sessions) expect(asked(session)).toEqual(['/slow 1'])

    await proxy.tell('heal')
    await killed.browser.reopen()
    // Opens several pages of the phone. Each may take over the unsent prompts.
    const pages = [await killed.open('/', phoneSize), await killed.watch(sessions[0]!, phoneSize)]
    pages.push(await killed.watch(sessions[1]!, phoneSize))
    for (const session of sessions) {
      await until('the prompt from the outbox', () => asked(session).length > 1)
      await hub.event(session, 'turn_end', hub.events(session).findLast((e) => e.type === 'user_prompt')!.seq)
    }
    for (const { page } of pages.slice(1)) {
      await until('an empty outbox', async () => (await stored(page, 'outbox')).length === 0)
      await page.locator('[data-outbox]').waitFor({ state: 'detached' })
    }
    // A new connection sends unanswered requests again, before later ones.
    await proxy.tell('rst')
    for (const [at, session] of sessions.entries()) {
      await pages[at + 1]!.reaches(session, hub.lastSeq(session))
      await pages[at + 1]!.prompt('/slow 1')
      await until(
        'the prompt after it',
        () => asked(session).at(-1) === '/slow 1' && asked(session).length > 2,
      )
      await hub.event(session, 'turn_end', hub.events(session).findLast((e) => e.type === 'user_prompt')!.seq)
      await hub.idle(session)
      expect(asked(session)).toEqual(['/slow 1', '/burst 20', '/slow 1'])
      for (const type of ['turn_start', 'turn_end'] as const)
        expect(
          all(session).filter((e) => e.type === type),
          type,
        ).toHaveLength(3)
      const ids = all(session).flatMap((e) => (e.type === 'user_prompt' ? [e.data.prompt_id] : []))
      expect(new Set(ids).size).toBe(3)
      await expectWhole(pages[at + 1]!, hub, session)
    }
    for (const { page } of pages) await page.close()
  })

  test('each show a long message whole although its end was loaded before its start', async () => {
    const session = await hub.newSession('Long')
    await hub.turn(session, '/slow 1')
    const wide = await desk.watch(session)
    await hub.turn(session, '/burst 500')
    await hub.idle(session)
    const late = await sleeper.watch(session, phoneSize)
    const { begun } = await late.watched()
    expect(begun, 'the first page begins in the middle of the message').toBeGreaterThan(21)
    for (const screen of [late, wide]) await expectWhole(screen, hub, session)
    expect(await shownBy(late)).toEqual(await shownBy(wide))
  })
})
