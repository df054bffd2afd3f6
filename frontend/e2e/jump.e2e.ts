import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const many = 100_000

/** The rows in view, by their first seq. */
const inView = (screen: Screen) =>
  screen.page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
      .filter((row) => {
        const box = row.getBoundingClientRect()
        return box.top < innerHeight && box.bottom > 0
      })
      .map((row) => Number(row.dataset['seq'])),
  )

const sees = (screen: Screen, seq: number) =>
  until(`seq ${seq} in view`, async () => (await inView(screen)).includes(seq), 10_000)

const window = (screen: Screen) =>
  screen.page.evaluate(() => document.documentElement.dataset['window'] ?? '')

describe('a session of 100,000 events', () => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let id: string

  beforeAll(async () => {
    hub = await Hub.start({
      agents: { bulk: [process.execPath, join(import.meta.dirname, 'rig/bulk-agent.mjs')] },
    })
    device = await Device.pair(hub)
    id = await hub.newSession('Long', 'bulk')
    await hub.prompt(id, `rows ${many}`)
    await until('the long turn over', async () => (await hub.session(id)).status === 'idle', 150_000)
    screen = await device.watch(id, desktop)
    await screen.reaches(id, hub.lastSeq(id))
  }, 180_000)
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  test('opens at a seq of its middle without what is between', async () => {
    const other = await device.open(`/s/${id}?seq=50000`, desktop)
    await sees(other, 50_000)
    const facts = await other.reaches(id, hub.lastSeq(id))
    expect(facts.applied).toBe(facts.seq - facts.first + 1)
    expect(facts.applied).toBeLessThan(1_000)
    expect(await window(other)).toMatch(/^\d+-50\d+$/)
    await other.page.close()
  })

  test('goes to its first event by gg, reads on from there, and back to the newest by G', async () => {
    await screen.feed.focus()
    await screen.page.keyboard.press('g')
    await screen.page.keyboard.press('g')
    await until('the first event in view', async () => Math.min(...(await inView(screen))) <= 2)
    expect(await window(screen)).toMatch(/^1-\d+$/)
    const end = Number((await window(screen)).split('-')[1])
    await until('pages after the window', async () => {
      await screen.page.evaluate(() => (document.querySelector('[role=feed]')!.scrollTop += 3000))
      return Number((await window(screen)).split('-')[1]) > end + 400
    })
    const seqs = await inView(screen)
    expect(seqs.length).toBeGreaterThan(1)
    expect(seqs).toEqual(seqs.map((_, i) => seqs[0]! + i))
    await screen.page.keyboard.press('G')
    await sees(screen, hub.lastSeq(id))
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
