// New access is one line at the end of the list, once for all devices of the owner.
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { barriers } from './rig/axe.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
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
    pocket = await mobile.open('/', phone)
    desk = await laptop.watch(session, { width: 1440, height: 900 })
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const env = { ...process.env, HOME: '/nonexistent' }
  const run = (...args: string[]) =>
    execFileSync(binaries.abide, [...args, '--data', hub.data], { encoding: 'utf8', env }).trim()
  const line = (screen: Screen) => screen.page.getByRole('complementary', { name: 'New access' })

  const clean = async (screen: Screen) => expect(await barriers(screen.page)).toEqual([])

  test('is one line of 44 px that covers and moves nothing', async () => {
    await line(pocket).getByText('New device signed in').waitFor()
    expect(await line(desk).count(), 'what was there before a browser is not new to it').toBe(0)
    await desk.page.evaluate(() => {
      const moved: number[] = []
      Object.assign(window, { moved })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) moved.push((entry as unknown as { value: number }).value)
      }).observe({ type: 'layout-shift' })
    })
    run('token', '--name', 'night job', '--scope', 'viewer', '--session', session)
    await line(desk)
      .getByText(/^night job · [0-9a-f]{4} \(read-only in Work\)$/)
      .waitFor()
    await line(pocket).getByText('2 new devices signed in').waitFor()
    const moved = await desk.page.evaluate(() => (window as unknown as { moved: number[] }).moved)
    // The ages of the list may become wider meanwhile. A line that pushed the list would move it by 0.04.
    expect(moved.reduce((sum, by) => sum + by, 0)).toBeLessThanOrEqual(0.01)
    for (const screen of [pocket, desk]) {
      const box = (await line(screen).boundingBox())!
      expect(box.height).toBeLessThanOrEqual(45)
      for (const theme of ['dark', 'light'] as const) {
        await screen.page.emulateMedia({ colorScheme: theme })
        await shot(screen, `granted-${screen === pocket ? 390 : 1440}-${theme}`)
      }
      const covered = await line(screen).evaluate((notice) => {
        const { top, left, right } = notice.getBoundingClientRect()
        return [...document.querySelectorAll('[data-row], a, button, h1')]
          .filter((e) => !notice.contains(e) && !e.matches('.skip') && !e.closest('.scroll'))
          .map((e) => ({ name: e.ariaLabel ?? e.textContent.trim(), box: e.getBoundingClientRect() }))
          .filter(({ box }) => box.height > 0 && box.bottom > top && box.left < right && box.right > left)
          .map(({ name }) => name)
      })
      expect(covered).toEqual([])
      await clean(screen)
    }
    for (const button of await line(pocket).getByRole('button').all()) {
      expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    }
    await expect
      .poll(() => pocket.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), {
        message: 'nothing is wider than the phone',
      })
      .toBe(true)
  })

  test('is gone on every device when it was seen on one, also after a reload', async () => {
    await tap(line(pocket).getByRole('button', { name: 'Dismiss' }))
    await line(pocket).waitFor({ state: 'detached' })
    await line(desk).waitFor({ state: 'detached' })
    run('token', '--name', 'third')
    await line(desk)
      .getByText(/^third · /)
      .waitFor()
    await line(pocket)
      .getByText(/^third · /)
      .waitFor()
    await desk.page.reload()
    await line(desk)
      .getByText(/^third · /)
      .waitFor()
  })

  test('is not the command line of the hub’s own machine', async () => {
    run('ls', '--all')
    await desk.page.reload()
    await line(desk)
      .getByText(/^third · /)
      .waitFor()
    expect(await line(desk).innerText()).not.toContain('command line')
    const { devices } = await hub.api<{ devices: { name: string; asked_by?: string }[] }>(
      'GET',
      '/api/devices',
    )
    expect(devices.find((d) => d.name === 'command line')!.asked_by).toMatch(/^abide ls \(process \d+\)/)
  })

  test('leads to Settings, which names it the same', async () => {
    const name = (await line(pocket).locator('b').innerText()).replace(/ \(.*/, '')
    await tap(line(pocket).getByRole('button', { name: 'Review' }))
    const listed = pocket.page.locator('[data-device]').filter({ hasText: name })
    await listed.waitFor()
    await line(desk).waitFor({ state: 'detached' })
    await shot(pocket, 'devices-390')
    // Several are revoked together.
    await pocket.page.getByRole('button', { name: 'Revoke several…' }).click()
    await listed.getByRole('checkbox').check()
    await pocket.page.locator('[data-device]').filter({ hasText: 'night job' }).getByRole('checkbox').check()
    await shot(pocket, 'devices-several-390')
    await clean(pocket)
    await pocket.page.getByRole('button', { name: 'Revoke 2' }).click()
    await listed.waitFor({ state: 'detached' })
    await expect
      .poll(() => pocket.page.locator('[data-device]').filter({ hasText: 'night job' }).count())
      .toBe(0)
    expect([...desk.errors, ...pocket.errors]).toEqual([])
  })
})
