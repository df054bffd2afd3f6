// Actions on sessions in the list itself: by touch on a phone, by keys on a desktop.
import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'
import { tap } from './rig/touch.ts'

const wide = { width: 1440, height: 900 }

describe.each([
  { by: 'touch at 390', size: phone },
  { by: 'keys at 1440', size: wide },
])('a row of the list, by $by', ({ size }) => {
  const touch = size === phone
  let hub: Hub
  let device: Device
  let screen: Screen
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub, { size })
    for (const name of ['One', 'Two', 'Three']) ids[name] = await hub.newSession(name)
    screen = await device.open('/', size)
    await row('One').waitFor()
  })
  afterAll(async () => {
    expect(screen.errors).toEqual([])
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  const row = (name: string) => screen.page.locator('[data-row]', { hasText: name })
  const button = (name: string) => screen.page.getByRole('button', { name, exact: true })
  const lists = (...names: string[]) =>
    until(`the list of ${names}`, async () => {
      const shown = await screen.page.locator('[data-row] .name').allInnerTexts()
      return JSON.stringify(shown) === JSON.stringify(names)
    })
  /** Taps until what that brings is there: a tap on a row that has just moved does nothing, as it was meant for another. */
  async function tapped(at: Locator, there: Locator) {
    await until('what the tap brings', async () => {
      await tap(at)
      return there.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      )
    })
  }
  /** Opens the menu of a row and chooses entries in it. */
  async function choose(name: string, ...entries: string[]) {
    const { page } = screen
    if (touch) await tapped(button(`More: ${name}`), page.getByRole('menu'))
    else {
      await row(name).locator('[data-entry]').focus()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
    }
    await page.getByRole('menu').waitFor()
    for (const entry of entries) {
      const item = page.getByRole('menuitem', { name: entry, exact: true })
      if (touch) await tap(item)
      else {
        const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim())
        for (let i = 0; i < 6 && (await focused()) !== entry; i++) await page.keyboard.press('ArrowDown')
        await expect.poll(() => focused()).toBe(entry)
        await page.keyboard.press('Enter')
      }
    }
  }
  async function swipe(name: string, by: number) {
    const box = (await row(name).boundingBox())!
    const cdp = await screen.page.context().newCDPSession(screen.page)
    const at = (x: number) => ({ touchPoints: [{ x: 195 + x, y: box.y + box.height / 2 }] })
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', ...at(0) })
    for (let i = 1; i <= 6; i++)
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchMove', ...at((by * i) / 6) })
    const strip = screen.page.locator('[data-drawn] > [aria-hidden=true]')
    const said = (await strip.count()) > 0 ? await strip.innerText() : ''
    await shot(screen, `swipe-${by}`)
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    return said.trim()
  }

  test('names its project and its agent, and has no dot while it is idle', async () => {
    const text = (await row('One').locator('.where').innerText()).trim()
    expect(text).toMatch(/^\S+ · demo$/)
    expect(await row('One').getByRole('img', { name: 'Idle' }).count()).toBe(0)
    await hub.prompt(ids['One']!, '/ask')
    await row('One').getByRole('img', { name: 'Needs you' }).waitFor()
    await expect
      .poll(() => row('One').getByRole('img', { name: 'Needs you' }).getAttribute('title'))
      .toBe('Needs you')
    expect(await barriers(screen.page)).toEqual([])
  })

  test('is pinned, renamed, archived with an undo, and deleted after a question', async () => {
    await choose('Two', 'Pin')
    await lists('One', 'Two', 'Three')
    await choose('Two', 'Rename')
    expect(await barriers(screen.page)).toEqual([])
    await screen.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Deux')
    await screen.page.keyboard.press('Enter')
    await row('Deux').waitFor()
    await choose('Deux', 'Archive')
    await lists('One', 'Three')
    await button('Undo').click()
    await lists('One', 'Deux', 'Three')
    await choose('Deux', 'Delete…', 'Cancel', 'Delete…', 'Delete')
    await lists('One', 'Three')
  })

  test('is selected with others, and all are archived and restored at once', async () => {
    await choose('One', 'Select')
    const box = screen.page.getByRole('checkbox', { name: /Three/ })
    const both = screen.page.getByText('2 selected')
    if (touch) await tapped(box, both)
    else {
      await box.focus()
      await screen.page.keyboard.press('Enter')
    }
    await both.waitFor()
    expect(await barriers(screen.page)).toEqual([])
    await button('Archive').click()
    await screen.page.getByText('Archived 2 sessions.').waitFor()
    await lists()
    await button('Undo').click()
    await lists('One', 'Three')
  })

  test('is found by its project, agent and status, and grouped', async () => {
    await button('Filter').click()
    await screen.page.locator('[data-filter=status]').selectOption('Needs you')
    await lists('One')
    expect(await barriers(screen.page)).toEqual([])
    await screen.page.locator('[data-filter=status]').selectOption('')
    for (const [field, value, shown] of [
      ['project', 'work', ['One', 'Three']],
      ['agent', 'demo', ['One', 'Three']],
    ] as const) {
      await screen.page.locator(`[data-filter=${field}]`).selectOption(value)
      await lists(...shown)
      await screen.page.locator(`[data-filter=${field}]`).selectOption('')
    }
    for (const [by, heading] of [
      ['project', 'work'],
      ['status', 'Needs you'],
      ['agent', 'demo'],
    ] as const) {
      await screen.page.locator('[data-filter=by]').selectOption(by)
      await screen.page.getByRole('heading', { name: heading, exact: true }).waitFor()
    }
    await button('Filter').click()
    await lists('One', 'Three')
  })

  test('opens its menu by a long press, as by the right button', async () => {
    await row('One').locator('[data-entry]').click({ button: 'right' })
    await screen.page.getByRole('menu').waitFor()
    await screen.page.keyboard.press('Escape')
    await until('the menu gone', async () => (await screen.page.getByRole('menu').count()) === 0)
  })

  if (touch)
    test('opens its menu by a finger that stays where the browser has no event for it, and stays here', async () => {
      const { page } = screen
      await page.evaluate(() =>
        addEventListener('contextmenu', (e) => e.isTrusted && e.stopImmediatePropagation(), true),
      )
      const box = (await row('One').boundingBox())!
      const cdp = await page.context().newCDPSession(page)
      const touchPoints = [{ x: 150, y: box.y + box.height / 2 }]
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints })
      await page.getByRole('menu').waitFor()
      await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
      await tap(page.getByRole('menuitem', { name: 'Rename', exact: true }))
      await page.getByRole('textbox', { name: 'Name', exact: true }).waitFor()
      expect(new URL(page.url()).pathname).toBe('/')
      await page.keyboard.press('Escape')
      await until('the menu gone', async () => (await page.getByRole('group', { name: 'One' }).count()) === 0)
    })

  if (touch)
    test('is archived by a swipe to the left, and pinned by one to the right', async () => {
      expect(await swipe('Three', 120)).toBe('Pin')
      await until('it pinned', async () => (await hub.session(ids['Three']!)).pinned)
      await swipe('Three', 60)
      expect(await swipe('One', -120), 'a question is not put away').toBe('Needs your answer')
      expect(await swipe('Three', -120)).toBe('Archive')
      await screen.page.getByText('Archived “Three”.').waitFor()
      await button('Undo').click()
      await lists('One', 'Three')
      expect((await hub.session(ids['Three']!)).pinned, 'a short way does nothing').toBe(true)
    })
})
