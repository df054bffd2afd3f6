import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone as phoneSize } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { elapse, until } from './rig/until.ts'

describe('a desktop and a phone of one person', () => {
  let hub: Hub
  let desk: Device
  let phone: Device

  beforeAll(async () => {
    hub = await Hub.start()
    desk = await Device.pair(hub)
    phone = await Device.pair(hub, { size: phoneSize })
  })
  afterAll(async () => {
    await phone.stop()
    await desk.stop()
    await hub.stop()
  })

  test('show a session as unread if neither has read it, and as read if one of them has', async () => {
    const id = await hub.newSession('Read me')
    await hub.turn(id, '/slow 1')
    const wide = await desk.watch(id)
    const small = await phone.watch(id, phoneSize)
    const first = hub.lastSeq(id)
    for (const screen of [wide, small]) await screen.reaches(id, first)
    const read = async () => (await hub.session(id)).read_seq
    await until('the hub told of what was read', async () => (await read()) === first)

    for (const screen of [wide, small]) await screen.go('/')
    await hub.turn(id, '/slow 1')
    const unread = (screen: Screen) =>
      screen.page.locator(`a[href="/s/${id}"]`).getByRole('img', { name: 'Unread' }).count()
    for (const screen of [wide, small]) {
      const line = screen.page.locator(`a[href="/s/${id}"]`)
      await until(
        'the dot of what is unread',
        async () => (await line.getByRole('img', { name: 'Unread' }).count()) === 1,
      )
    }
    expect(await read(), 'nobody read it').toBe(first)

    await wide.go(`/s/${id}`)
    await wide.reaches(id, hub.lastSeq(id))
    await until('read on the phone', async () => (await unread(small)) === 0)
    await expect.poll(() => read()).toBe(hub.lastSeq(id))
    await expect
      .poll(() => small.page.locator('html[data-link=open]').count(), {
        message: 'the phone was not loaded anew',
      })
      .toBe(1)
    for (const screen of [wide, small]) expect(screen.errors).toEqual([])
  })

  test('show a session as unread that was made with a token and never opened', async () => {
    const made = await hub.newSession('Made by a script')
    await hub.turn(made, '/slow 1')
    const wide = await desk.open('/')
    const small = await phone.open('/', phoneSize)
    for (const screen of [wide, small]) {
      const line = screen.page.locator(`a[href="/s/${made}"]`)
      await until(
        'the dot of what is unread',
        async () => (await line.getByRole('img', { name: 'Unread' }).count()) === 1,
      )
    }
    await small.go(`/s/${made}`)
    await small.reaches(made, hub.lastSeq(made))
    const there = wide.page.locator(`a[href="/s/${made}"]`)
    await until(
      'read on the desktop',
      async () => (await there.getByRole('img', { name: 'Unread' }).count()) === 0,
    )
    for (const screen of [wide, small]) expect(screen.errors).toEqual([])
  })

  test('go to the first unread event by u, until it was read and scrolled past', async () => {
    const id = await hub.newSession('Much to read')
    await hub.turn(id, '/slow 1')
    const screen = await desk.watch(id)
    const first = hub.lastSeq(id) + 1
    await screen.reaches(id, first - 1)
    await until('the hub told of what was read', async () => (await hub.session(id)).read_seq === first - 1)
    await screen.go('/')
    for (let i = 0; i < 4; i++) await hub.turn(id, '/burst 500')
    await screen.go(`/s/${id}`)
    await screen.reaches(id, hub.lastSeq(id))
    // By now this screen itself has told the hub that all is read.
    await until('all read', async () => (await hub.session(id)).read_seq === hub.lastSeq(id))
    const inView = () =>
      screen.page.locator(`article[data-seq="${first}"]`).evaluateAll((rows) => {
        const { top = -1 } = rows[0]?.getBoundingClientRect() ?? {}
        return top >= 0 && top < innerHeight
      })
    await screen.feed.focus()
    expect(await inView(), 'the session opens at its end').toBe(false)
    // The unread part is known once the list is loaded, up to a second after the session.
    await until('the first unread', async () => {
      await screen.page.keyboard.press('u')
      await elapse(100)
      return inView()
    })
    /** The seq of each row that has the "New" line above it. */
    const ruled = () =>
      screen.feed
        .locator('article[data-seq]')
        .evaluateAll((rows) =>
          rows
            .filter((row) => getComputedStyle(row.parentElement!, '::before').content === '"New"')
            .map((row) => Number((row as HTMLElement).dataset['seq'])),
        )
    await expect.poll(() => ruled()).toEqual([first])
    // The pixels by which the word overlaps the row above and the row below, beyond their padding.
    const over = await screen.feed.locator(`article[data-seq="${first}"]`).evaluate((row) => {
      const slot = row.parentElement!
      const word = getComputedStyle(slot, '::before')
      const above = getComputedStyle(slot.previousElementSibling!.firstElementChild!)
      const up = -parseFloat(word.top)
      const down = parseFloat(word.height) - up
      return [up - parseFloat(above.paddingBottom), down - parseFloat(getComputedStyle(row).paddingTop)]
    })
    expect(Math.max(...over), 'the word covers no row').toBeLessThanOrEqual(0)
    await screen.page.keyboard.press('G')
    await until('the end', async () => !(await inView()))
    await screen.page.keyboard.press('u')
    await elapse(500)
    expect(await inView(), 'they were there').toBe(false)
    expect(screen.errors).toEqual([])
  })
})
