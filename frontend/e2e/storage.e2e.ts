import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole } from './rig/oracle.ts'
import { FaultProxy } from './rig/proxy.ts'
import { Screen } from './rig/screen.ts'
import { stored } from './rig/stored.ts'
import { until } from './rig/until.ts'

describe('the storage of a device', () => {
  let hub: Hub
  let proxy: FaultProxy
  let device: Device
  let session: string
  const screens: Screen[] = []

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr] })
    await proxy.to(hub.addr)
    device = await Device.pair(hub, { origin: proxy.origin })
  })
  beforeEach(async () => {
    session = await hub.newSession('Kept')
    await hub.turn(session, '/slow 1')
  })
  afterEach(async () => {
    for (const screen of screens.splice(0)) await screen.page.close()
    await proxy.tell('heal')
  })
  afterAll(async () => {
    await device.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  /** Opens the session in a window in which `before` runs before the app. */
  async function watch(before?: () => void): Promise<Screen> {
    const page = await device.browser.window()
    if (before) await page.addInitScript(before)
    const screen = await Screen.open(page, `${device.origin}/s/${session}`)
    screens.push(screen)
    await screen.reaches(session, 1)
    return screen
  }

  async function cut(): Promise<void> {
    await proxy.tell('blackhole')
    await proxy.tell('rst')
  }

  async function mend(): Promise<void> {
    await proxy.tell('heal')
    await proxy.tell('rst') // ends the connections that still hang
  }

  /** Waits until the prompt written without a network has run, and fails if it ran twice. */
  async function ranOnce(screen: Screen): Promise<void> {
    const prompts = () => hub.events(session).filter((e) => e.type === 'user_prompt')
    await until('the prompt', () => prompts().length === 2)
    await hub.event(session, 'turn_end', prompts()[1]!.seq)
    await hub.idle(session)
    await expectWhole(screen, hub, session)
    await until('the outbox to be empty', async () => (await outbox(screen)) === 0)
    expect(prompts().map((e) => e.data.text)).toEqual(['/slow 1', '/burst 50'])
  }

  const outbox = (screen: Screen) => screen.page.locator('[data-outbox]').count()

  test.each([
    [
      'localStorage',
      () =>
        Object.defineProperty(window, 'localStorage', {
          get: () => {
            throw new DOMException('forbidden', 'SecurityError')
          },
        }),
    ],
    ['IndexedDB', () => Object.defineProperty(window, 'indexedDB', { value: undefined })],
    [
      'a database that opens',
      () => {
        // The database neither opens nor fails, as in a broken profile.
        IDBFactory.prototype.open = () => new EventTarget() as IDBOpenDBRequest
      },
    ],
    ['Web Locks', () => Object.defineProperty(navigator, 'locks', { value: undefined })],
  ])(
    'is not needed: without %s a prompt sent offline runs once, and all events are shown',
    async (_, without) => {
      const screen = await watch(without)
      await cut()
      await screen.prompt('/burst 50')
      await until('the prompt in the outbox', async () => (await outbox(screen)) === 1)
      await mend()
      await ranOnce(screen)
      expect(screen.errors).toEqual([])
    },
  )

  test('is written again after the system closed the database: a prompt survives its tab and runs once', async () => {
    const screen = await watch()
    // Deletes the page's databases and closes its connections to them, as the system may do.
    const cdp = await device.browser.context.newCDPSession(screen.page)
    await cdp.send('Storage.clearDataForOrigin', { origin: device.origin, storageTypes: 'indexeddb' })
    await cdp.detach()
    await cut()
    await screen.prompt('/burst 50')
    await until('the prompt in the database', async () => (await stored(screen.page, 'outbox')).length === 1)
    expect(screen.errors).toEqual([])
    await screen.page.close()
    screens.splice(0)
    await mend()
    await ranOnce(await watch())
  })

  test('holds a prompt that is sent once, although its lock was stolen and two tabs own it', async () => {
    const screen = await watch()
    const other = await watch()
    await cut()
    await screen.prompt('/burst 50')
    await until('the prompt in the outbox', async () => (await outbox(screen)) === 1)
    await other.page.evaluate(async () => {
      const held = ((await navigator.locks.query()).held ?? []).map((lock) => lock.name!)
      const steal = (name: string) =>
        new Promise<void>((stolen) => {
          void navigator.locks.request(name, { steal: true }, () => {
            stolen()
            return Promise.resolve()
          })
        })
      for (const name of held) await steal(name)
    })
    // A third tab takes over the prompt of a tab that it believes dead.
    const third = await (async () => {
      const page = await device.browser.window()
      const opened = Screen.open(page, `${device.origin}/s/${session}`)
      await mend()
      return opened
    })()
    screens.push(third)
    await third.reaches(session, 1)
    for (const each of [screen, other, third]) await ranOnce(each)
  })

  test('shares a draft between all tabs while it is typed, until one of them sends it', async () => {
    const one = await watch()
    const two = await watch()
    await one.composer.pressSequentially('half a thou')
    await until('the draft in the other tab', async () => (await two.composer.inputValue()) === 'half a thou')
    await two.composer.press('End')
    await two.composer.pressSequentially('ght')
    await until('the change in the first', async () => (await one.composer.inputValue()) === 'half a thought')

    const mine = session
    session = await hub.newSession('Another')
    const three = await watch()
    expect(await three.composer.inputValue(), 'the draft of another session').toBe('')

    await one.page.reload()
    await one.reaches(mine, 1)
    expect(await one.composer.inputValue()).toBe('half a thought')
    await two.composer.fill('/slow 1')
    await until('what will be sent', async () => (await one.composer.inputValue()) === '/slow 1')
    await two.composer.press('Control+Enter')
    await until('no draft is left', async () => (await one.composer.inputValue()) === '')
    await two.page.reload()
    await two.reaches(mine, 1)
    expect(await two.composer.inputValue()).toBe('')
    await until('the prompt', () => hub.events(mine).filter((e) => e.type === 'user_prompt').length === 2)
  })

  test('holds a prompt that is sent once, although its page is reloaded as it is sent', async () => {
    const screen = await watch()
    await watch() // a tab that stays open, and takes over the prompts of closed tabs
    for (let asked = 1; asked <= 3; asked++) {
      await screen.composer.fill('/slow 1')
      await screen.composer.evaluate((area) => {
        area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }))
        location.reload()
      })
      const prompts = () => hub.events(session).filter((e) => e.type === 'user_prompt').length
      await until(`prompt ${asked} of those sent`, () => prompts() > asked)
      await hub.idle(session)
      expect(prompts()).toBe(asked + 1)
      await until('the outbox to be empty', async () => (await outbox(screen)) === 0)
      expect(await screen.composer.inputValue(), 'what is left of the draft').toBe('')
    }
  })
})
