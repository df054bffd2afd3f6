import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('a list longer than the screen', () => {
  let hub: Hub
  let desk: Device
  const ids: string[] = []

  beforeAll(async () => {
    hub = await Hub.start()
    for (let i = 1; i <= 24; i++) ids.push(await hub.newSession(`Session ${i}`))
    desk = await Device.pair(hub)
  })
  afterAll(async () => {
    await desk.stop()
    await hub.stop()
  })

  /** Whether the whole row of a session is in view. */
  const inView = (screen: Screen, id: string) =>
    screen.page.locator(`[aria-current][href="/s/${id}"]`).evaluate((line) => {
      const list = line.closest('.scroll')!.getBoundingClientRect()
      const { top, bottom } = line.getBoundingClientRect()
      return top >= list.top - 1 && bottom <= list.bottom + 1
    })

  test('scrolls to the open session, opened by its link or by keys', async () => {
    const [oldest, newest] = [ids[0]!, ids.at(-1)!]
    const screen = await desk.watch(oldest)
    await until('the line of the linked session in view', () => inView(screen, oldest))
    await screen.go(`/s/${newest}`)
    await screen.reaches(newest, 1)
    await until('the line of the newest in view', () => inView(screen, newest))
    await screen.feed.focus()
    for (let i = 1; i < ids.length; i++) await screen.page.keyboard.press(']')
    await until('the line of the session the keys went to in view', () => inView(screen, oldest))
    expect(screen.errors).toEqual([])
  })
})

// 195 px is a phone's 390 px at 200 %; 320 px is the width of WCAG 1.4.10.
describe.each([195, 320])('on a screen of %i px', (width) => {
  let hub: Hub
  let phone: Device
  let asking: string

  beforeAll(async () => {
    hub = await Hub.start()
    asking = await hub.newSession('A session of a rather long name')
    await hub.prompt(asking, 'Show me around')
    await hub.event(asking, 'permission_request')
    phone = await Device.pair(hub)
  })
  afterAll(async () => {
    await phone.stop()
    await hub.stop()
  })

  test('only lines of code are wider than the screen', async () => {
    const screen = await phone.open('/', { width, height: 600 })
    const { page } = screen
    /** Elements that scroll sideways or extend beyond the screen. */
    const wide = () =>
      page.evaluate(() => {
        const code = 'pre, pre *, .lines, .lines *, :has(> .lines)'
        const of = (e: Element) => `${e.localName}.${e.className}: ${e.textContent!.trim().slice(0, 40)}`
        const all = [...document.querySelectorAll('*')].filter((e) => !e.matches(code))
        const scroll = all.filter(
          (e) => e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX),
        )
        const beyond = [...document.querySelectorAll('button, input, a, label')].filter((e) => {
          const { left, right, width } = e.getBoundingClientRect()
          return width > 0 && (left < -1 || right > innerWidth + 1)
        })
        const root = document.documentElement
        return [...(root.scrollWidth > innerWidth ? [root] : []), ...scroll, ...beyond].map(of)
      })
    const fits = (what: string) => expect.poll(wide, { message: what }).toEqual([])
    const dialog = page.getByRole('dialog')
    const { keyboard } = page

    await page.getByRole('link', { name: /rather long/ }).waitFor()
    await fits('the list')
    await page.getByRole('button', { name: 'New session' }).click()
    await dialog.getByLabel('First prompt').waitFor()
    await fits('a new session')
    await keyboard.press('Escape')
    await keyboard.press('?')
    await dialog.getByText('Show shortcuts').waitFor()
    await fits('the keys')
    await keyboard.press('Escape')
    await keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    await fits('the palette')
    await keyboard.press('Escape')
    // Closing goes one step back in history, which takes the browser a moment. The next step must come after it.
    await page.waitForFunction(() => !(history.state as { over?: unknown } | null)?.over)
    await screen.go('/settings')
    await page.getByText('Access', { exact: true }).waitFor()
    await fits('the settings')
    await screen.go(`/s/${asking}`)
    await screen.permission.locator('[data-option]:enabled').first().waitFor()
    await fits('a question')
    for (const name of ['Rules…', 'Agent…']) {
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Rules…' }).waitFor()
      await fits('the menu')
      if (name === 'Agent…') await page.getByRole('menuitem', { name: 'All commands…' }).click()
      await page.getByRole(name === 'Agent…' ? 'option' : 'menuitem', { name }).click()
      await dialog.getByRole('button').nth(1).waitFor()
      await fits(name)
      await keyboard.press('Escape')
    }
    expect(screen.errors).toEqual([])
  })
})
