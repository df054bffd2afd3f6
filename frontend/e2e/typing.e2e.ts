// On a desktop, typed text goes into the composer, unless the feed has the focus.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { until } from './rig/until.ts'

let hub: Hub
let device: Device
beforeAll(async () => {
  hub = await Hub.start()
  device = await Device.pair(hub)
})
afterAll(async () => {
  await device.stop()
  expect(await hub.stop()).toBe(0)
})

test('text typed after a session was opened from the list is in the composer, complete', async () => {
  const session = await hub.newSession('Typed')
  await hub.turn(session, '/plan')
  const screen = await device.open('/', desktop)
  await screen.page.locator(`a[href="/s/${session}"]`).click()
  await screen.reaches(session, hub.lastSeq(session))
  await until('the focus on the composer', () =>
    screen.page.evaluate(() => document.activeElement?.hasAttribute('data-composer')),
  )
  // The same if the focus is on an element that takes no text.
  await screen.page.locator(`a[href="/s/${session}"]`).focus()
  await screen.page.keyboard.type('hello cat')
  await expect.poll(() => screen.composer.inputValue()).toBe('hello cat')
  expect(await screen.page.locator('dialog[open]').count()).toBe(0)
  await screen.composer.fill('')
  await screen.page.keyboard.press('ArrowUp')
  await expect.poll(() => screen.composer.inputValue()).toBe('/plan')
  await screen.composer.fill('')
  await screen.page.close()
})

test('a question has the focus once its session is open, ignores typed words, and Esc Esc stops its turn', async () => {
  const session = await hub.newSession('Asked')
  await hub.prompt(session, '/ask')
  await hub.event(session, 'permission_request')
  const screen = await device.watch(session, desktop)
  await until('the focus on the question', () =>
    screen.page.evaluate(() => document.activeElement?.hasAttribute('data-permission')),
  )
  await until('an answer to count', () => screen.permission.locator('[data-option]').first().isEnabled())
  await screen.page.keyboard.type('all is well')
  await expect.poll(() => screen.composer.inputValue()).toBe('all is well')
  await screen.page.keyboard.press('Escape')
  await screen.page.keyboard.press('Escape')
  const { data } = await hub.event(session, 'turn_end')
  expect(data.stop_reason).toBe('cancelled')
  await screen.feed.getByText('Stopped before it finished.').first().waitFor()
  expect(await screen.feed.locator('.failed').count(), 'nothing is shown as failed').toBe(0)
  await screen.page.close()
})

test('the first Tab skips the list and goes to the question, and the next ones reach its first option', async () => {
  const session = await hub.newSession('Skipped to')
  await hub.prompt(session, '/ask')
  await hub.event(session, 'permission_request')
  const screen = await device.open('/settings', desktop)
  await screen.page.getByRole('button', { name: 'New session' }).waitFor()
  await screen.go(`/s/${session}`)
  await screen.permission.waitFor()
  const { page } = screen
  await until('an answer to count', () => screen.permission.locator('[data-option]').first().isEnabled())
  // As after a reload: the next Tab goes to the first focusable element of the page.
  await page.evaluate(() => {
    document.body.tabIndex = -1
    document.body.focus()
    document.body.removeAttribute('tabindex')
  })
  await page.keyboard.press('Tab')
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.textContent?.trim()))
    .toBe('Skip the list')
  await page.keyboard.press('Enter')
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.hasAttribute('data-permission')))
    .toBe(true)
  const atAnAnswer = () => page.evaluate(() => document.activeElement?.hasAttribute('data-option') ?? false)
  let stops = 0
  while (!(await atAnAnswer()) && stops < 9) {
    await page.keyboard.press('Tab')
    stops++
  }
  expect(stops, 'from the question to its first answer').toBeLessThanOrEqual(3)
  await page.close()
})

test('the Enter that ends a composition sends nothing, also where the browser has ended it before', async () => {
  const session = await hub.newSession('Composed')
  const screen = await device.watch(session, desktop)
  await screen.composer.fill('日本')
  const enter = (keyCode: number) =>
    screen.composer.evaluate((field, keyCode) => {
      const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })
      Object.defineProperty(event, 'keyCode', { value: keyCode })
      field.dispatchEvent(event)
    }, keyCode)
  await enter(229)
  expect(await screen.composer.inputValue()).toBe('日本')
  await enter(13)
  await hub.event(session, 'user_prompt')
  expect(hub.events(session).filter((e) => e.type === 'user_prompt')).toHaveLength(1)
  await screen.page.close()
})

test('letters typed while a dialog is loaded are in its field, whichever dialog it is', async () => {
  const session = await hub.newSession('Early')
  await hub.turn(session, '/plan')
  const early = async (part: string, open: (page: Page) => Promise<void>, field: string) => {
    const { page } = await device.watch(session, desktop)
    let come = () => {}
    const may = new Promise<void>((resolve) => (come = resolve))
    await page.route(`**/assets/${part}-*.js`, async (route) => {
      await may
      await route.continue()
    })
    await open(page)
    await page.keyboard.type('Sax')
    await page.keyboard.press('Backspace')
    await page.keyboard.type('y ')
    come()
    const at = page.locator('dialog').getByLabel(field)
    await at.waitFor()
    await page.keyboard.type('hello')
    await expect.poll(() => at.inputValue(), { message: part }).toBe('Say hello')
    await page.close()
  }
  await early(
    'dialogs',
    (page) => page.getByRole('button', { name: 'New session' }).first().click(),
    'First prompt optional',
  )
  // The focus is in the composer meanwhile.
  await early(
    'dialogs',
    async (page) => {
      await page.locator('[data-composer]').focus()
      await page.keyboard.press('Control+k')
    },
    'Command or session',
  )
  await early(
    'remark',
    async (page) => {
      await page.locator('article .message').first().hover()
      await page.getByRole('button', { name: 'Message actions' }).first().click()
      await page.getByRole('menuitem', { name: 'Comment…' }).click()
    },
    'Comment',
  )
})
