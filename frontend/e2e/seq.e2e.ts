// What an address with ?seq= shows: the event it names, or the nearest there is.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('an address that names an event', () => {
  let hub: Hub
  let device: Device
  let id: string
  /** The events that the hub still has. */
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
  /** Whether the row of an event is in view, and marked as what the address names. */
  const shown = (screen: Screen, seq: number) =>
    screen.page.evaluate((seq) => {
      const rows = [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
      const row = rows.find((r) => Number(r.dataset['seq']) <= seq && seq <= Number(r.dataset['last']))
      const box = row?.getBoundingClientRect()
      const view = document.querySelector('[role=feed]')!.getBoundingClientRect()
      return box !== undefined && box.top < view.bottom && box.bottom > view.top
    }, seq)
  const sees = (screen: Screen, seq: number) => until(`event ${seq}`, () => shown(screen, seq))

  test('of the middle goes there, and says nothing', async () => {
    const middle = Math.round((min + max) / 2)
    const screen = await open(middle)
    await sees(screen, middle)
    expect(await shown(screen, max)).toBe(false)
    expect(await notices(screen)).toEqual([])
    await close(screen)
  })

  test('past the end says so, once, and shows the end', async () => {
    const screen = await open(max + 1_000)
    await screen.page.getByText(`Event ${max + 1_000} is not in this session: it ends at ${max}.`).waitFor()
    await sees(screen, max)
    expect(await notices(screen)).toHaveLength(1)
    await screen.page.getByRole('button', { name: 'Dismiss' }).click()
    await until('the notice gone', async () => (await notices(screen)).length === 0)
    await close(screen)
  })

  test('that the hub has let go shows the oldest it has', async () => {
    expect(min).toBeGreaterThan(1)
    const screen = await open(1)
    // The start of a turn, and what an agent says of itself, have no row.
    await until(
      'the oldest row',
      async () => (await shown(screen, min)) || (await shown(screen, min + 1)) || shown(screen, min + 2),
    )
    expect(await screen.feed.evaluate((feed) => feed.scrollTop)).toBe(0)
    expect((await screen.feed.getByText('Loading what came before').count()) > 0).toBe(false)
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
      expect(await screen.page.locator('html').getAttribute('data-window')).toBe('')
      await close(screen)
    },
  )
})
