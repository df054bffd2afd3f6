import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { barriers, ofColours } from './rig/axe.ts'
import { Browser, desktop, phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { Screen } from './rig/screen.ts'

/** With ABIDE_SOAK every rule runs on every screen, at both sizes and in both themes. */
const soak = process.env['ABIDE_SOAK'] !== undefined

const sizes = [
  { name: 'at a desktop', size: desktop },
  { name: 'on a phone', size: phone },
]
/** The sizes at which every screen is checked; without a size, they alternate from screen to screen. */
const asked: { name: string; size?: Size }[] = soak ? sizes : [{ name: 'at either size' }]

/** Fails if a violation lasts. All rules run in the light theme, only those about colours in the dark one. */
async function expectOpenToAll(page: Page): Promise<void> {
  await expect
    .poll(() => page.locator('h1:not([aria-level]):visible').count(), { message: 'one title' })
    .toBe(1)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const rules = colorScheme === 'light' || soak ? undefined : ofColours
    // A button that was just enabled is still changing its colour, so retry.
    expect(await barriers(page, rules), colorScheme).toEqual([])
  }
}

describe('every screen has no accessibility violations', () => {
  let hub: Hub
  let device: Device
  let stranger: Browser
  let tour: string
  let waiting: string
  let markdown: string
  let failed: string

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    stranger = await Browser.start()
    tour = await hub.newSession('Tour')
    await hub.prompt(tour, 'Show me around')
    const asked = await hub.event(tour, 'permission_request')
    await hub.api('POST', `/api/sessions/${tour}/permissions/${asked.data.permission_id}`, {
      option_id: 'yes',
    })
    await hub.event(tour, 'turn_end')
    waiting = await hub.newSession('Waits')
    await hub.prompt(waiting, 'Show me around')
    await hub.event(waiting, 'permission_request')
    await hub.prompt(waiting, 'And then the second thing')
    await hub.prompt(waiting, 'And the third')
    markdown = await hub.newSession('Markdown')
    await hub.turn(markdown, '/markdown')
    failed = await hub.newSession('Crashes')
    await hub.turn(failed, '/crash')
  })
  afterAll(async () => {
    await stranger.stop()
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  // Screens alternate between desktop and phone. The catalogue’s tests check each state at both sizes.
  let looked = 0
  describe.each(asked)('$name', (given) => {
    const nextSize = () => given.size ?? sizes[looked++ % sizes.length]!.size

    async function look(path: string, ready: (s: Screen) => Promise<unknown>): Promise<void> {
      const size = nextSize()
      const page = await device.browser.window(size)
      const screen = await Screen.open(page, device.origin + path)
      await ready(screen)
      await expectOpenToAll(page)
      await page.close()
    }
    const atEnd = (session: string) => async (s: Screen) => s.reaches(session, hub.lastSeq(session))

    test('the list', () =>
      look('/', async (s) => {
        await s.page
          .getByRole('link', { name: /Tour|Waits/ })
          .first()
          .waitFor()
        await expect.poll(() => s.page.getByRole('main').count(), { message: 'one main part' }).toBe(1)
      }))

    test('a new session', () =>
      look('/', async (s) => {
        await s.page.getByRole('button', { name: 'New session' }).first().click()
        await s.page.getByRole('dialog').getByLabel('First prompt').waitFor()
      }))

    test('a session that has ended its turn, with everything opened', () =>
      look(`/s/${tour}`, async (s) => {
        await atEnd(tour)(s)
        await s.feed.evaluate((feed) => {
          for (const b of feed.querySelectorAll<HTMLElement>('button[aria-expanded=false]')) b.click()
        })
        await s.feed.getByText('hello from the demo agent').waitFor()
      }))

    test('every kind of markdown', () =>
      look(`/s/${markdown}`, async (s) => {
        await atEnd(markdown)(s)
        await s.feed.getByRole('table').first().waitFor()
      }))

    test('a permission request above a queue', () =>
      look(`/s/${waiting}`, async (s) => {
        await s.permission.waitFor()
        await s.permission.locator('[data-option]:enabled').first().waitFor()
        await s.page.getByText('2 queued').click()
        await s.page
          .getByRole('button', { name: /^Remove: / })
          .first()
          .waitFor()
      }))

    test('the menu of a session', () =>
      look(`/s/${tour}`, async (s) => {
        await atEnd(tour)(s)
        await s.page.getByRole('button', { name: 'More', exact: true }).click()
        await s.page.getByRole('menuitem', { name: 'Rename' }).waitFor()
      }))

    test('the commands of the agent', () =>
      look(`/s/${tour}`, async (s) => {
        await atEnd(tour)(s)
        await s.composer.fill('/')
        await s.page.getByRole('option').first().waitFor()
      }))

    test('an agent that crashed', () => look(`/s/${failed}`, atEnd(failed)))

    test('the settings', () =>
      look('/settings', (s) => s.page.getByText('Access', { exact: true }).waitFor()))

    test('a session that was not found', () =>
      look('/s/gone', (s) => s.page.getByText('Session not found').waitFor()))

    test('an address that leads nowhere', () =>
      look('/nowhere', (s) => s.page.getByRole('main').first().waitFor()))

    test('the pairing screen', async () => {
      const page = await stranger.window(nextSize())
      const screen = await Screen.open(page, hub.origin)
      await screen.page.getByText('Pair this device').waitFor()
      await expectOpenToAll(page)
      await page.close()
    })
  })

  test('a hub that is gone, with a prompt that waits', async () => {
    const screens = []
    for (const { size } of sizes) screens.push(await device.watch(tour, size))
    await hub.kill()
    for (const screen of screens) await screen.prompt('Sent into the dark')
    for (const screen of screens) {
      await screen.page.getByRole('button', { name: 'Try now' }).waitFor()
      await expectOpenToAll(screen.page)
      await screen.page.close()
    }
    await hub.start()
  })
})
