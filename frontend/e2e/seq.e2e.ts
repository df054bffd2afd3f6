// An address with ?seq= shows that event, or the nearest existing one.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { elapse, until } from './rig/until.ts'

describe('an address that names an event', () => {
  let hub: Hub
  let device: Device
  let id: string
  /** The first and last seq that the hub still has. */
  let min: number
  let max: number

  beforeAll(async () => {
    hub = await Hub.start({ config: 'log_file_mib: 1\nkeep_log_mib: 1\n' })
    device = await Device.pair(hub)
    id = await hub.newSession('Places')
    await until(
      'the oldest events gone',
      async () => {
        await hub.prompt(id, '/burst 3000')
        await hub.idle(id)
        return ((await hub.session(id)).min_seq ?? 1) > 1
      },
      240_000,
    )
    await until('nothing more to come', async () => {
      const before = max
      ;({ min_seq: min, max_seq: max } = (await hub.session(id)) as { min_seq: number; max_seq: number })
      return before === max
    })
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  const open = async (seq: string | number) => {
    const screen = await device.open(`/s/${id}?seq=${seq}`, desktop)
    await screen.reaches(id, max)
    return screen
  }
  const close = async (screen: Screen) => {
    expect(screen.errors).toEqual([])
    await screen.page.close()
  }
  const notices = (screen: Screen) => screen.page.locator('[data-problem]').allInnerTexts()
  /** Whether the row of the event is in view, and marked as the target of the address. */
  const shown = (screen: Screen, seq: number) =>
    screen.page.evaluate((seq) => {
      const rows = [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
      const row = rows.find((r) => Number(r.dataset['seq']) <= seq && seq <= Number(r.dataset['last']))
      const box = row?.getBoundingClientRect()
      const view = document.querySelector('[role=feed]')?.getBoundingClientRect()
      return box !== undefined && view !== undefined && box.top < view.bottom && box.bottom > view.top
    }, seq)
  const sees = (screen: Screen, seq: number) => until(`event ${seq}`, () => shown(screen, seq))

  test('in the middle shows it, without a notice', async () => {
    const middle = Math.round((min + max) / 2)
    const screen = await open(middle)
    await sees(screen, middle)
    expect(await shown(screen, max)).toBe(false)
    expect(await notices(screen)).toEqual([])
    await close(screen)
  })

  test('is left by the back button to the earlier place: the end, or a place before it', async () => {
    const walk = await hub.newSession('Walks')
    for (let i = 0; i < 8; i++) await hub.turn(walk, '/burst 300')
    const last = hub.lastSeq(walk)
    const middle = Math.round(last / 2)
    const screen = await device.watch(walk, desktop)
    await screen.reaches(walk, last)
    await sees(screen, last)
    await screen.go(`/s/${walk}?seq=${middle}`)
    await sees(screen, middle)
    const rest = () => screen.feed.evaluate((feed) => feed.scrollHeight - feed.clientHeight - feed.scrollTop)
    const apart = async () => (await screen.page.locator('html').getAttribute('data-window')) !== ''
    await until('a place away from the end', async () => (await apart()) || (await rest()) > 500)
    await screen.page.goBack()
    await until('the end', async () => !(await apart()) && (await rest()) < 24)

    const top = () => screen.feed.evaluate((feed) => feed.scrollTop - feed.scrollHeight)
    const end = await top()
    await screen.feed.hover()
    await until('a place before the end', async () => {
      await screen.page.mouse.wheel(0, -200)
      return (await top()) < end - 600
    })
    await until('nothing moving', async () => {
      const before = await top()
      await elapse(300)
      return before === (await top())
    })
    const place = await top()
    await screen.go(`/s/${walk}?seq=${middle}`)
    await until('another place', async () => Math.abs((await top()) - place) > 100)
    await screen.page.goBack()
    await until('that place', async () => Math.abs((await top()) - place) < 3)
    await close(screen)
  })

  test('in a message higher than the view shows that part of it', async () => {
    const long = await hub.newSession('Long')
    await hub.turn(long, '/burst 9000')
    const chunks = hub.events(long).filter((e) => e.type === 'agent_message')
    const [from, to] = [chunks[0]!.seq, chunks.at(-1)!.seq]
    const at = Math.round(from + 0.45 * (to - from))
    const screen = await device.watch(long, desktop)
    await screen.reaches(long, hub.lastSeq(long))
    await sees(screen, to)
    await screen.go(`/s/${long}?seq=${at}`)
    const share = () =>
      screen.page.evaluate((seq) => {
        const rows = [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
        const row = rows.find((r) => Number(r.dataset['seq']) <= seq && seq <= Number(r.dataset['last']))
        const box = row?.getBoundingClientRect()
        const view = document.querySelector('[role=feed]')!.getBoundingClientRect()
        if (!box || box.height < 4 * view.height) return -1
        const { seq: first, last } = row!.dataset
        const there = box.top + (box.height * (seq - Number(first))) / (Number(last) - Number(first))
        return (there - view.top) / view.height
      }, at)
    await until('that part in view', async () => {
      const place = await share()
      return place >= 0 && place < 1
    })
    await close(screen)
  })

  test('past the end shows one notice, and the end', async () => {
    const screen = await open(max + 1_000)
    await screen.page.getByText(`Event ${max + 1_000} is not in this session: it ends at ${max}.`).waitFor()
    await sees(screen, max)
    await expect.poll(() => notices(screen)).toHaveLength(1)
    await screen.page.getByRole('button', { name: 'Dismiss' }).click()
    await until('the notice gone', async () => (await notices(screen)).length === 0)
    await close(screen)
  })

  test('that the hub has deleted shows the oldest one it has', async () => {
    expect(min).toBeGreaterThan(1)
    const screen = await open(1)
    // Some events have no row, such as the start of a turn, so the row may be one of the next.
    await until(
      'the oldest row',
      async () => (await shown(screen, min)) || (await shown(screen, min + 1)) || shown(screen, min + 2),
    )
    await expect.poll(() => screen.feed.evaluate((feed) => feed.scrollTop)).toBe(0)
    expect((await screen.feed.getByText('Loading earlier messages').count()) > 0).toBe(false)
    expect(await shown(screen, max)).toBe(false)
    expect(await notices(screen)).toEqual([])
    await close(screen)
  })

  test.each(['abc', '-5', '0', '1.5', '1e99', '', '%00', '12x', '٣'])(
    'but is none, as %j, shows the end and says nothing',
    async (garbage) => {
      const screen = await open(garbage)
      await sees(screen, max)
      expect(await notices(screen)).toEqual([])
      await expect.poll(() => screen.page.locator('html').getAttribute('data-window')).toBe('')
      await close(screen)
    },
  )
})
