// A new device is shown on each open page of the owner, with a button that removes it.
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'
import { tap } from './rig/touch.ts'

describe('a new grant', () => {
  let hub: Hub
  let mobile: Device
  let laptop: Device
  let pocket: Screen
  let desk: Screen
  let session: string

  beforeAll(async () => {
    hub = await Hub.start()
    session = await hub.newSession('Work')
    mobile = await Device.pair(hub, { told: true })
    laptop = await Device.pair(hub, { told: true })
    pocket = await mobile.watch(session, phone)
    desk = await laptop.open('/', { width: 1440, height: 900 })
    await desk.page.locator('html[data-link=open]').waitFor()
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const token = (...more: string[]) =>
    execFileSync(binaries.abide, ['token', '--data', hub.data, ...more], { encoding: 'utf8' }).trim()
  const line = (screen: Screen, name: string) =>
    screen.page
      .getByRole('complementary', { name: 'New access' })
      .locator('[data-grant]')
      .filter({ hasText: name })
  const status = async (secret: string) =>
    (await fetch(`${hub.origin}/api/health`, { headers: { authorization: `Bearer ${secret}` } })).status

  test('is shown on every open page, and removed by a tap', async () => {
    await line(pocket, 'Browser').waitFor()
    expect(await line(desk, 'Browser').count(), 'what was there before a browser is not new to it').toBe(0)
    const secret = token('--name', 'night job', '--scope', 'viewer', '--session', session)
    await line(desk, 'night job').waitFor()
    await line(pocket, 'night job').waitFor()
    expect(await line(desk, 'night job').innerText()).toMatch(
      /New token night job, at .*: read-only in Work/s,
    )
    expect(await status(secret)).toBe(200)

    const revoke = line(pocket, 'night job').getByRole('button')
    expect((await revoke.boundingBox())!.height).toBeGreaterThanOrEqual(36)
    await tap(revoke)
    await line(desk, 'night job').waitFor({ state: 'detached' })
    await line(pocket, 'night job').waitFor({ state: 'detached' })
    expect(await status(secret)).toBe(401)
    expect(
      await pocket.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      'nothing is wider than the phone',
    ).toBe(true)
  })

  test('covers no row and no control', async () => {
    await pocket.go('/')
    await pocket.page.locator('[data-row]').waitFor()
    const night = token('--name', 'night shift')
    await line(desk, 'night shift').waitFor()
    for (const screen of [pocket, desk]) {
      await shot(screen, `granted-${screen === pocket ? 390 : 1440}`)
      const covered = await line(screen, screen === pocket ? 'Browser' : 'night shift').evaluate((grant) => {
        const notice = grant.closest('aside')!
        const low = notice.getBoundingClientRect().bottom
        return [...document.querySelectorAll('[data-row], a, button, h1')]
          .filter((e) => !notice.contains(e) && !e.matches('.skip'))
          .map((e) => ({ name: e.ariaLabel ?? e.textContent.trim(), box: e.getBoundingClientRect() }))
          .filter(({ box }) => box.height > 0 && box.top < low)
          .map(({ name }) => name)
      })
      expect(covered).toEqual([])
    }
    await pocket.go(`/s/${session}`)
    await tap(line(pocket, 'night shift').getByRole('button'))
    await line(desk, 'night shift').waitFor({ state: 'detached' })
    expect(await status(night)).toBe(401)
  })

  test('is removed by keys, and the focus moves to the next button', async () => {
    const first = token('--name', 'first')
    const second = token('--name', 'second')
    await line(desk, 'second').waitFor()
    await desk.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    await until('the first button by Tab', async () => {
      await desk.page.keyboard.press('Tab')
      return desk.page.evaluate(() => document.activeElement?.getAttribute('aria-label') === 'Revoke: first')
    })
    await desk.page.keyboard.press('Enter')
    await line(desk, 'first').waitFor({ state: 'detached' })
    await until('the other button', () =>
      desk.page.evaluate(() => document.activeElement?.getAttribute('aria-label') === 'Revoke: second'),
    )
    expect(await status(first)).toBe(401)
    expect(await status(second)).toBe(200)
  })

  test('stays dismissed in this browser, and the next one is shown', async () => {
    await desk.page.keyboard.press('Tab')
    await desk.page.keyboard.press('Enter')
    await line(desk, 'second').waitFor({ state: 'detached' })
    await line(pocket, 'second').waitFor()
    await desk.page.reload()
    await desk.page.locator('html[data-link=open]').waitFor()
    token('--name', 'third')
    await line(desk, 'third').waitFor()
    expect(await line(desk, 'second').count()).toBe(0)
    expect([...desk.errors, ...pocket.errors]).toEqual([])
  })
})
