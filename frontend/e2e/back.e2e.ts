import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('on a phone the back button', () => {
  let hub: Hub
  let mobile: Device
  let screen: Screen
  const ids: string[] = []

  beforeAll(async () => {
    hub = await Hub.start()
    mobile = await Device.pair(hub, { size: phone })
    for (const name of ['First', 'Second']) {
      ids.push(await hub.newSession(name))
      await hub.turn(ids.at(-1)!, '/slow 1')
    }
  })
  afterEach(() => screen.page.close())
  afterAll(async () => {
    await mobile.stop()
    expect(await hub.stop()).toBe(0)
  })

  /** Opens a session from the list. */
  async function enter(name: string): Promise<void> {
    await screen.page.locator('a', { hasText: name }).first().click()
    await screen.page.getByRole('heading', { name }).waitFor()
    await screen.reaches(await at(), 1)
  }
  async function openList(): Promise<void> {
    screen = await mobile.open('/', phone)
    await screen.page.locator('html[data-link=open]').waitFor()
  }
  const at = () => screen.page.evaluate(() => /^\/s\/([\w-]+)$/.exec(location.pathname)?.[1] ?? '')
  const back = () => screen.page.evaluate(() => history.back())
  const dialogs = () => screen.page.locator('dialog[open], [role=menu]').count()
  const focus = () =>
    screen.page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? 'nothing')
  const button = (name: string) => screen.page.getByRole('button', { name, exact: true })
  const none = () => until('nothing over the session', async () => (await dialogs()) === 0)

  test.each([
    ['the details', 'Details', () => button('Details').click()],
    ['the menu', 'More', () => button('More').click()],
    [
      'the rules',
      'More',
      async () => {
        await button('More').click()
        await screen.page.getByRole('menuitem', { name: 'Rules…' }).click()
        await screen.page.getByRole('dialog', { name: 'Rules' }).waitFor()
      },
    ],
  ])('takes away %s and stays in the session, then leaves it', async (_, opener, open) => {
    await openList()
    await enter('First')
    await open()
    await until('what lies over the session', async () => (await dialogs()) === 1)
    await back()
    await none()
    expect(await at()).toBe(ids[0])
    await until('the focus where it was', async () => (await focus()) === opener)
    await back()
    await until('the list', async () => (await at()) === '')
  })

  test('does not reopen a dialog that was closed by hand, and each closing goes back one step', async () => {
    await openList()
    await enter('First')
    for (const close of [
      () => button('Close').click(),
      () => screen.page.keyboard.press('Escape'),
      () => screen.page.touchscreen.tap(10, 400).catch(() => screen.page.mouse.click(10, 400)),
    ]) {
      await button('Details').click()
      await screen.page.getByRole('dialog', { name: 'Details' }).waitFor()
      await close()
      await none()
      await until('the focus where it was', async () => (await focus()) === 'Details')
      // Closing goes one step back in history. The browser drops that step if another one starts before it is done.
      await until('the step of the closing', () => screen.page.evaluate(() => !history.state?.over))
    }
    expect(await at()).toBe(ids[0])
    await back()
    await until('the list', async () => (await at()) === '')
  })

  test('leads from a session that was opened over a dialog to the one before, without the dialog', async () => {
    await openList()
    await enter('First')
    await button('More').click()
    await screen.page.getByRole('menuitem', { name: 'Rules…' }).click()
    await screen.page.getByRole('dialog', { name: 'Rules' }).waitFor()
    await screen.page.keyboard.press('Control+k')
    await screen.page.getByRole('combobox', { name: 'Command or session' }).fill('Second')
    await screen.page.keyboard.press('Enter')
    await until('the other session', async () => (await at()) === ids[1])
    await none()
    await back()
    await until('the session before', async () => (await at()) === ids[0])
    await none()
  })

  test('is not needed to cancel deleting a session by keys', async () => {
    await openList()
    await enter('Second')
    await button('More').focus()
    await screen.page.keyboard.press('Enter')
    await until('the menu', async () => (await dialogs()) === 1)
    const words = () => screen.page.evaluate(() => document.activeElement?.textContent?.trim())
    await until('its first line', async () => (await words()) === 'Rename')
    await screen.page.keyboard.press('ArrowUp')
    await expect.poll(() => words()).toBe('Delete…')
    await screen.page.keyboard.press('Enter')
    await until('the line that keeps it', async () => (await words()) === 'Cancel')
    await screen.page.keyboard.press('Escape')
    await none()
    await until('the focus where it was', async () => (await focus()) === 'More')
    expect(await at()).toBe(ids[1])
  })

  test('is not needed to close the details: a modal dialog with the focus in it and a close button of 44 px', async () => {
    await openList()
    await enter('First')
    await button('Details').click()
    const details = screen.page.getByRole('dialog', { name: 'Details' })
    await details.waitFor()
    await until('the focus in a modal dialog', () =>
      details.evaluate((d) => d.contains(document.activeElement) && d.matches(':modal')),
    )
    const size = await details.getByRole('button', { name: 'Close' }).boundingBox()
    expect(Math.min(size!.width, size!.height)).toBeGreaterThanOrEqual(44)
  })
})
