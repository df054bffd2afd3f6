// A session on a phone with its small screen and a poor network: nothing is cut off, and no alarm
// appears early.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { keepSummary } from './rig/inpage.ts'
import { paired } from './rig/paired.ts'
import { FaultProxy } from './rig/proxy.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** Times are measured by make soak, on its own. */
const soak = process.env['ABIDE_SOAK'] !== undefined

/** The cumulative layout shift since the page was opened. */
const shifted = (page: Page) =>
  page.evaluate(async () => {
    let sum = 0
    const moves = new PerformanceObserver((list) => {
      for (const move of list.getEntries() as (PerformanceEntry & { value: number })[]) sum += move.value
    })
    moves.observe({ type: 'layout-shift', buffered: true })
    for (let i = 0; i < 4; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
    return sum
  })

describe('on a small screen', () => {
  const at = paired({ size: phone })

  test('the summary of missed events has every button whole, apart from the others and in reach', async () => {
    const session = await at.hub.newSession('Missed')
    await at.hub.turn(session, '/slow 1')
    const left = await at.device.watch(session, phone)
    const read = at.hub.lastSeq(session)
    await left.reaches(session, read)
    await until(
      'the hub told of what was read',
      async () => (await at.hub.session(session)).read_seq === read,
    )
    await left.page.close()
    await at.hub.turn(session, '/burst 100')
    await at.hub.prompt(session, '/ask')
    const { seq } = await at.hub.event(session, 'permission_request')

    const page = await at.device.browser.window(phone)
    await page.addInitScript(keepSummary)
    await page.addInitScript(() => {
      const now = Date.now.bind(Date)
      Date.now = () => now() + 3_600_000
    })
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await screen.reaches(session, seq)
    const card = page.getByRole('region', { name: 'While you were away' })
    await card.waitFor()
    expect(await shifted(page), 'it moves nothing').toBeLessThanOrEqual(0.01)
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 700 })
      const laid = await card.getByRole('button').evaluateAll((buttons) =>
        buttons.map((button) => {
          const { left, right, top, bottom } = button.getBoundingClientRect()
          const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
          const cut = left < 0 || right > innerWidth || top < 0 || bottom > innerHeight
          const onto = buttons.filter((other) => {
            const box = other.getBoundingClientRect()
            const apart = box.left >= right || box.right <= left || box.top >= bottom || box.bottom <= top
            return other !== button && !apart
          })
          const fine = !cut && onto.length === 0 && button.contains(over)
          return `${button.textContent!.trim()}${fine ? '' : ' is not free'}`
        }),
      )
      expect(laid, `at ${width}`).toEqual([
        expect.stringMatching(/ away · .*Jump to first unread$/),
        'Answer',
        '',
      ])
    }
    await screen.composer.fill('next')
    await screen.composer.press('Control+Enter')
    await card.waitFor({ state: 'detached' })
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('touch targets in the list are 44 px high', async () => {
    await at.hub.newSession('Fingers')
    const page = await at.device.browser.window(phone)
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true })
    await page.goto(at.device.origin)
    await page.getByRole('link', { name: 'Fingers' }).waitFor()
    expect(await page.evaluate(() => matchMedia('(pointer: coarse)').matches)).toBe(true)
    const small = await page
      .locator('button, input, a')
      .evaluateAll((all) =>
        all
          .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44)
          .map((e) => `${e.outerHTML.slice(0, 80)}: ${e.getBoundingClientRect().height}`),
      )
    expect(small).toEqual([])
    await page.close()
  })

  test('a long prompt in the queue has three lines, and one line if the queue is folded', async () => {
    const session = await at.hub.newSession('Queue')
    const screen = await at.device.watch(session, phone)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await at.hub.prompt(session, 'And then, when that is done, the next thing. '.repeat(60))
    const queue = screen.page.getByRole('region', { name: 'Queue' })
    await queue.waitFor()
    const lines = (of: string) =>
      queue.locator(of).evaluate((text) => {
        const line = document.createElement('span')
        line.textContent = 'x'
        line.style.display = 'block'
        text.append(line)
        const { height } = line.getBoundingClientRect()
        line.remove()
        return Math.round(text.clientHeight / height)
      })
    await expect.poll(() => lines('.next')).toBe(1)
    await queue.getByText('1 queued').click()
    await queue.locator('.text').waitFor()
    await expect.poll(() => lines('.text')).toBe(3)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })
})

describe('on a poor network', () => {
  let hub: Hub
  let proxy: FaultProxy
  let device: Device
  let session: string
  let screen: Screen

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr] })
    await proxy.to(hub.addr)
    device = await Device.pair(hub, { origin: proxy.origin, size: phone })
    session = await hub.newSession('Far away')
    screen = await device.watch(session, phone)
    await screen.page.evaluate(note)
  })
  afterAll(async () => {
    await device.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  const noted = () => screen.page.evaluate(() => (window as unknown as { noted: Noted }).noted)
  const back = async () => {
    await screen.page.locator('html[data-link=open]').waitFor()
    await until('nothing noted', async () => Object.keys(await noted()).length === 0)
  }

  test('a lost connection is not shown for 400 ms, and is no alarm for 5 s', async () => {
    await proxy.tell('stall')
    await proxy.tell('rst')
    await until('the alarm', async () => (await noted()).alarm !== undefined)
    const { away, said, alarm } = await noted()
    // 20 ms and 100 ms of tolerance: the recorded times are not exactly those of the app's timers.
    expect(said! - away!, 'what is said').toBeGreaterThan(380)
    expect(alarm! - said!, 'the alarm comes after').toBeGreaterThan(0)
    if (soak) expect(said! - away!, 'what is said').toBeLessThan(4_000)
    expect(alarm! - away!, 'the alarm').toBeGreaterThan(4_900)
    await screen.page.getByText('No connection to the hub.').first().waitFor()
  })

  test('"No messages yet" is not shown above a waiting prompt', async () => {
    const untouched = screen.page.getByText('No messages yet')
    await expect.poll(() => untouched.count()).toBe(1)
    await screen.prompt('/slow 1')
    await screen.page.locator('[data-outbox]').waitFor()
    expect(await untouched.count()).toBe(0)
    await proxy.tell('heal')
    await hub.event(session, 'turn_end')
    await back()
  })

  test('a device that is offline is shown as such at once', async () => {
    await device.browser.context.setOffline(true)
    await screen.page.evaluate(() => dispatchEvent(new Event('offline')))
    await screen.page.getByText('Offline. Messages will send when you reconnect.').first().waitFor()
    const { away, alarm } = await noted()
    expect(alarm).toBeDefined()
    if (soak) expect(alarm! - away!).toBeLessThan(4_000)
    await device.browser.context.setOffline(false)
    await screen.page.evaluate(() => dispatchEvent(new Event('online')))
    await back()
    expect(screen.errors).toEqual([])
  })
})

/** The times at which the connection was lost, that was first shown, and it was shown in red. */
interface Noted {
  away?: number
  said?: number
  alarm?: number
}

/** Runs in the page: records these times, and clears them when the connection is back. */
function note(): void {
  const noted: Noted = {}
  Object.assign(window, { noted })
  const look = () => {
    const now = performance.now()
    if (document.documentElement.dataset['link'] === 'open') {
      for (const key of ['away', 'said', 'alarm'] as const) delete noted[key]
      return
    }
    noted.away ??= now
    const pill = [...document.querySelectorAll('.pill')].some((e) =>
      e.textContent?.trim().startsWith('Reconnecting'),
    )
    const alarm = document.querySelector('.pill.bad')
    if (pill || alarm) noted.said ??= now
    if (alarm) noted.alarm ??= now
  }
  const all = { attributes: true, childList: true, subtree: true }
  new MutationObserver(look).observe(document.documentElement, all)
}
