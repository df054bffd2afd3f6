// What was read is found again: in a session by Ctrl+F, and over all sessions, by words in any order.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

describe.each([
  { name: 'at a desk', size: desktop },
  { name: 'on a phone', size: phone },
])('finding $name', ({ size }) => {
  let hub: Hub
  let device: Device
  let id: string
  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    id = await hub.newSession('Counted')
    for (let n = 0; n < 5; n++) await hub.turn(id, '/slow 12')
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  /** The texts that the browser paints as found. */
  const marked = ({ page }: Screen, name = 'found') =>
    page.evaluate(
      (name) =>
        [...((CSS.highlights.get(name) as unknown as Iterable<Range>) ?? [])].map((r) => r.toString()),
      name,
    )
  const number = ({ page }: Screen, text: string) =>
    page.locator('[data-find] [role=status]', { hasText: text }).waitFor()

  test('a phrase streamed in pieces is found, marked, and gone through by keys', async () => {
    const screen = await device.watch(id, size)
    const { page } = screen
    if (size === desktop) await page.keyboard.press('Control+f')
    else {
      await page.getByRole('button', { name: 'More', exact: true }).click()
      await page.getByRole('menuitem', { name: 'Find…' }).click()
    }
    const field = page.getByRole('searchbox', { name: 'Find in this session' })
    await field.waitFor()
    await page.keyboard.type('"7 8 9 10"')
    await number(screen, '0 of 5')
    await until('the marks', async () => (await marked(screen)).includes('7 8 9 10'))
    const at = () => Number(new URL(page.url()).searchParams.get('seq'))
    await page.keyboard.press('Enter')
    await number(screen, '5 of 5')
    const newest = at()
    await page.keyboard.press('Shift+Enter')
    await number(screen, '4 of 5')
    expect(at()).toBeLessThan(newest)
    await page.getByRole('button', { name: 'Next match' }).click()
    await number(screen, '5 of 5')
    expect(at()).toBe(newest)
    await shot(screen, `find-${size.width}`)
    expect(await barriers(page)).toEqual([])
    // A field's name is no text of the session.
    await field.fill('message_id')
    await number(screen, '0 of 0')
    await field.press('Escape')
    await field.waitFor({ state: 'detached' })
    await expect.poll(() => marked(screen)).toEqual([])
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('of one session three hits are shown at first, titles and the feed are marked', async () => {
    const screen = await device.open('/', size)
    const { page } = screen
    const field = page.getByRole('searchbox', { name: 'Search sessions' })
    await field.fill('counted')
    await page.locator('.foot', { hasText: 'Nothing found' }).waitFor()
    await expect.poll(() => marked(screen, 'named')).toEqual(['Counted'])
    await field.fill('12 /slow')
    await page.getByRole('button', { name: '2 more' }).waitFor()
    await expect.poll(() => page.locator('.hit').count()).toBe(3)
    await shot(screen, `hits-${size.width}`)
    await page.getByRole('button', { name: '2 more' }).click()
    await expect.poll(() => page.locator('.hit').count()).toBe(5)
    await page.locator('.hit').first().click()
    await until('the marks', async () => (await marked(screen)).includes('/slow'))
    // Its bracket stands beside the letters.
    await shot(screen, `hit-${size.width}`)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('finds in playback, too', async () => {
    const screen = await device.open(`/s/${id}/play`, size)
    await screen.page.locator('[data-play][data-busy=false]').waitFor()
    await screen.page.keyboard.press('Control+f')
    const field = screen.page.getByRole('searchbox', { name: 'Find in this session' })
    await field.fill('slow')
    await number(screen, 'of 5')
    await field.press('Escape')
    await screen.page.close()
  })
})
