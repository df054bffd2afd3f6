import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { longSession } from './rig/longsession.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const many = 100_000

/** The rows in view, by the seqs they show. */
const inView = (screen: Screen) =>
  screen.page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
      .filter((row) => {
        const box = row.getBoundingClientRect()
        return box.top < innerHeight && box.bottom > 0
      })
      .map((row) => ({ first: Number(row.dataset['seq']), last: Number(row.dataset['last']) })),
  )

const sees = (screen: Screen, seq: number) =>
  until(
    `seq ${seq} in view`,
    async () => (await inView(screen)).some((row) => row.first <= seq && seq <= row.last),
    10_000,
  )

const window = (screen: Screen) =>
  screen.page.evaluate(() => document.documentElement.dataset['window'] ?? '')

describe('a session of 100,000 events', () => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let id: string

  beforeAll(async () => {
    hub = new Hub()
    id = longSession(hub, many)
    await hub.start()
    device = await Device.pair(hub)
    screen = await device.watch(id, desktop)
    await screen.reaches(id, many)
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  test('opens at a seq of its middle without what is between', async () => {
    const other = await device.open(`/s/${id}?seq=50000`, desktop)
    await sees(other, 50_000)
    const facts = await other.reaches(id, many)
    expect(facts.applied).toBe(facts.seq - facts.first + 1)
    expect(facts.applied).toBeLessThan(1_000)
    expect(await window(other)).toMatch(/^\d+-50\d+$/)
    await other.page.close()
  })

  test('goes to its first event by gg, reads on from there, and back to the newest by G', async () => {
    await screen.feed.focus()
    await screen.page.keyboard.press('g')
    await screen.page.keyboard.press('g')
    await until('the first event in view', async () => (await inView(screen))[0]?.first === 1)
    expect(await window(screen)).toMatch(/^1-\d+$/)
    const end = Number((await window(screen)).split('-')[1])
    await until('pages after the window', async () => {
      await screen.page.evaluate(() => (document.querySelector('[role=feed]')!.scrollTop += 3000))
      return Number((await window(screen)).split('-')[1]) > end + 400
    })
    const rows = await screen.page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('article[data-seq]')].map((row) => ({
        first: Number(row.dataset['seq']),
        last: Number(row.dataset['last']),
      })),
    )
    expect(rows.length).toBeGreaterThan(1)
    // The start of a turn has no row.
    for (const [i, row] of rows.entries()) if (i > 0) expect(row.first - rows[i - 1]!.last).toBeLessThan(3)
    await screen.page.keyboard.press('G')
    await sees(screen, many)
    expect(await window(screen)).toBe('')
  })

  test('joins the live run when reading on reaches it', async () => {
    const { first } = await screen.facts()
    await screen.page.evaluate(
      ([id, seq]) => {
        const link = document.createElement('a')
        link.href = `/s/${id}?seq=${seq}`
        document.body.append(link)
        link.click()
        link.remove()
      },
      [id, first - 700] as const,
    )
    await sees(screen, first - 700)
    expect(await window(screen)).not.toBe('')
    await until('the window and the live run are one', async () => {
      await screen.page.evaluate(() => (document.querySelector('[role=feed]')!.scrollTop += 1500))
      return (await window(screen)) === ''
    })
    const facts = await screen.facts()
    expect(facts.first).toBeLessThan(first - 700)
    expect(facts.applied).toBe(facts.seq - facts.first + 1)
  })

  test('meets no error on the way', () => expect(screen.errors).toEqual([]))
})
