import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { alone, until } from './rig/until.ts'

/** How far the feed is from its end, in pixels, after four frames in which it may move. */
const fromEnd = (screen: Screen) =>
  screen.page.evaluate(async () => {
    for (let i = 0; i < 4; i++) await new Promise((resolve) => requestAnimationFrame(resolve))
    const feed = document.querySelector('[role=feed]')!
    return Math.round(feed.scrollHeight - feed.clientHeight - feed.scrollTop)
  })

describe('a feed at its end stays there', () => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let id: string

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    id = await hub.newSession('Long enough')
    await hub.turn(id, '/burst 300')
    await hub.turn(id, '/markdown')
    screen = await device.watch(id, phone)
    await screen.reaches(id, hub.lastSeq(id))
    await screen.feed.focus()
    await screen.page.keyboard.press('g')
    await screen.page.keyboard.press('g')
    await screen.page.locator('html[data-first-seq="1"]').waitFor()
    await screen.page.keyboard.press('G')
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  const expectEnd = async (when: string) => {
    expect(await fromEnd(screen), when).toBeLessThanOrEqual(1)
    expect(await screen.page.getByRole('button', { name: 'Jump to latest' }).count(), when).toBe(0)
  }

  test('while a prompt of many lines is typed and deleted', async () => {
    await expectEnd('before')
    const low = await screen.composer.evaluate((area) => area.clientHeight)
    for (let line = 1; line <= 12; line++) {
      await screen.composer.pressSequentially(`line ${line}`)
      await screen.composer.press('Shift+Enter')
      await expectEnd(`line ${line}`)
    }
    const [height, most] = await screen.composer.evaluate((area) => [area.clientHeight, innerHeight / 3])
    expect(height, 'the field has grown').toBeGreaterThan(low * 3)
    expect(height, 'to a third of the screen').toBeLessThanOrEqual(most!)
    await screen.composer.press('x')
    const caret = await screen.composer.evaluate(
      (area) => area.scrollTop + area.clientHeight - area.scrollHeight,
    )
    // 12 px allow for the padding of the field.
    expect(Math.abs(caret), 'the line that is written is in view').toBeLessThan(12)
    await screen.composer.fill('')
    await expectEnd('none')
    await expect.poll(() => screen.composer.evaluate((area) => area.clientHeight)).toBe(low)
  })

  test('when the part below it is replaced by a higher one between two frames', async () => {
    await screen.page.evaluate(() => {
      const foot = document.querySelector<HTMLElement>('.foot')!
      foot.style.display = 'none'
      void document.body.offsetHeight // the browser cuts the feed's position here
      foot.style.display = ''
      foot.style.paddingTop = '180px'
    })
    await expectEnd('a higher foot')
    await screen.page.evaluate(() => (document.querySelector<HTMLElement>('.foot')!.style.paddingTop = ''))
    await expectEnd('the foot as it was')
  })

  test('when a row shrinks and then grows beyond its height between two frames', async () => {
    await screen.page.evaluate(() => {
      const row = [...document.querySelectorAll<HTMLElement>('[data-key]')].at(-2)!
      row.style.display = 'none'
      void document.body.offsetHeight // the browser cuts the feed's position here
      row.style.display = ''
      row.style.paddingTop = '180px'
    })
    await expectEnd('a higher row')
    await screen.page.evaluate(() => {
      for (const row of document.querySelectorAll<HTMLElement>('[data-key]')) row.style.paddingTop = ''
    })
    await expectEnd('the row as it was')
  })

  test('when a session that the page holds is opened again', async () => {
    await screen.go('/')
    await until('the feed gone', async () => (await screen.feed.count()) === 0)
    await screen.go(`/s/${id}`)
    await screen.feed.locator('article').last().waitFor()
    await expectEnd('opened again')
  })

  test('when the page is reloaded', async () => {
    await screen.page.reload()
    await screen.reaches(id, hub.lastSeq(id))
    await screen.feed.getByRole('table').first().waitFor()
    await expectEnd('reloaded')
  })

  test('while a prompt waits for an unreachable hub, also after a reload', async () => {
    // The worker opens the page without the hub. It is registered 3 s after the first screen.
    await alone(screen.page)
    await hub.kill()
    await screen.prompt('Sent into the dark')
    await screen.page.locator('[data-outbox]').waitFor()
    await expectEnd('sent')
    await screen.page.reload()
    await screen.page.locator('[data-outbox]').waitFor()
    await expectEnd('reloaded, with no hub')
    await hub.start()
    // Later rows would move the end while the next test looks at it.
    await screen.page.locator('[data-outbox]').waitFor({ state: 'detached' })
    await until('its answer', async () => (await hub.session(id)).status === 'needs_you')
    await screen.reaches(id, hub.lastSeq(id))
  })

  test('also by keys: nothing covers the last row, and G moves the focus there', async () => {
    const pill = screen.page.getByRole('button', { name: /Jump to latest|new$/ })
    const focused = () =>
      screen.page.evaluate(() => {
        const row = document.activeElement!.closest<HTMLElement>('[data-key]')
        return (
          row &&
          Number(row.ariaPosInSet) - Number([...document.querySelectorAll('[data-key]')].at(-1)!.ariaPosInSet)
        )
      })
    await screen.feed.focus()
    for (const key of ['g', 'g']) await screen.page.keyboard.press(key)
    await pill.waitFor()
    // Its words are in one line, also where the screen is narrowest.
    await screen.page.setViewportSize({ ...phone, width: 320 })
    const lines = () =>
      pill.evaluate((button) => {
        const words = document.createRange()
        words.selectNodeContents(button.lastChild!)
        return new Set([...words.getClientRects()].map(({ bottom }) => Math.round(bottom))).size
      })
    await expect.poll(() => lines()).toBe(1)
    await screen.page.setViewportSize(phone)
    await screen.page.keyboard.press('j')
    await until('a row with the focus', async () => ((await focused()) ?? 0) < 0)
    await screen.page.keyboard.press('G')
    await until('the last row with the focus', async () => (await focused()) === 0)
    await until('its end in view', async () => (await fromEnd(screen)) <= 1) // the last rows are measured first
    await expectEnd('after G')
    // A step up and down again ends the following of the end, but the end is in view.
    await screen.page.keyboard.press('k')
    await until('the row before', async () => (await focused()) === -1)
    await screen.page.keyboard.press('j')
    await until('the last row again', async () => (await focused()) === 0)
    await until('nothing over it', async () => (await pill.count()) === 0)
  })

  test('without errors in the page', () => expect(screen.errors).toEqual([]))
})
