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

  /** Whether the whole line of a session is in the list's view. */
  const inView = (screen: Screen, id: string) =>
    screen.page.locator(`[aria-current][href="/s/${id}"]`).evaluate((line) => {
      const list = line.closest('.scroll')!.getBoundingClientRect()
      const { top, bottom } = line.getBoundingClientRect()
      return top >= list.top - 1 && bottom <= list.bottom + 1
    })

  test('shows the session that is open, by its link and by the keys', async () => {
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
