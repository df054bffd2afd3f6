import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { keepSummary } from './rig/inpage.ts'
import { longSession } from './rig/longsession.ts'
import { FaultProxy } from './rig/proxy.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const many = 100_000

/** The first and last seqs of the rows in view. */
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
  until(`seq ${seq} in view`, async () =>
    (await inView(screen)).some((row) => row.first <= seq && seq <= row.last),
  )

const window = (screen: Screen) =>
  screen.page.evaluate(() => document.documentElement.dataset['window'] ?? '')

describe('a session of 100,000 events', () => {
  let hub: Hub
  let proxy: FaultProxy
  let device: Device
  let screen: Screen
  let id: string

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = new Hub({ publicNames: [proxy.addr] })
    id = longSession(hub, many)
    await hub.start()
    await proxy.to(hub.addr)
    device = await Device.pair(hub)
    screen = await device.watch(id, desktop)
    await screen.reaches(id, many)
  })
  afterAll(async () => {
    await device.stop()
    await proxy.stop()
    await hub.stop()
  })

  test('opens at a seq in its middle without loading the events between there and the end', async () => {
    const other = await device.open(`/s/${id}?seq=50000`, desktop)
    await sees(other, 50_000)
    const facts = await other.reaches(id, many)
    expect(facts.applied).toBe(facts.seq - facts.first + 1)
    expect(facts.applied).toBeLessThan(1_000)
    await expect.poll(() => window(other)).toMatch(/^\d+-50\d+$/)
    await other.page.close()
  })

  test('goes to its first event by gg, loads more when scrolled, and goes back to the newest by G', async () => {
    await screen.feed.focus()
    await screen.page.keyboard.press('g')
    await screen.page.keyboard.press('g')
    await until('the first event in view', async () => (await inView(screen))[0]?.first === 1)
    await expect.poll(() => window(screen)).toMatch(/^1-\d+$/)
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
    // The start of a turn has no row, so a gap of one event is allowed.
    for (const [i, row] of rows.entries()) if (i > 0) expect(row.first - rows[i - 1]!.last).toBeLessThan(3)
    await screen.page.keyboard.press('G')
    await sees(screen, many)
    await until('the live run', async () => (await window(screen)) === '')
  })

  test('joins the window with the live run when scrolling reaches it', async () => {
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
    await expect.poll(() => window(screen)).not.toBe('')
    await until('the window and the live run are one', async () => {
      await screen.page.evaluate(() => (document.querySelector('[role=feed]')!.scrollTop += 1500))
      return (await window(screen)) === ''
    })
    const facts = await screen.facts()
    expect(facts.first).toBeLessThan(first - 700)
    expect(facts.applied).toBe(facts.seq - facts.first + 1)
  })

  /** Opens the session in a page whose clock is an hour ahead. */
  const anHourLater = async () => {
    const page = await device.browser.window(desktop)
    await page.addInitScript(keepSummary)
    await page.addInitScript((by) => {
      const now = Date.now.bind(Date)
      Date.now = () => now() + by
    }, 3_600_000)
    const back = await Screen.open(page, `${device.origin}/s/${id}`)
    await back.reaches(id, hub.lastSeq(id))
    return back
  }
  const card = (back: Screen) => back.page.getByRole('region', { name: 'While you were away' })

  test('summarises what was missed in an absence, and jumps to its start, which is not loaded', async () => {
    const read = hub.lastSeq(id)
    await screen.reaches(id, read)
    await until('the hub told of what was read', async () => (await hub.session(id)).read_seq === read)
    // Deletes the page's databases, as a browser may do to a page that is away. localStorage stays.
    await screen.page.goto('about:blank')
    const cdp = await device.browser.context.newCDPSession(screen.page)
    await cdp.send('Storage.clearDataForOrigin', { origin: device.origin, storageTypes: 'indexeddb' })
    await cdp.detach()
    for (let i = 0; i < 3; i++) await hub.turn(id, '/burst 400')
    const back = await anHourLater()
    await card(back).waitFor()
    await expect.poll(() => card(back).innerText()).toMatch(/1 h.* away · \d+\+ turns?/)
    expect((await back.facts()).first, 'not all of it is loaded').toBeGreaterThan(read + 1)
    await card(back).getByRole('button', { name: 'Jump to first unread' }).click()
    await sees(back, read + 1)
    await card(back).waitFor({ state: 'detached' })
    expect(back.errors).toEqual([])
    await back.page.close()
  })

  test('shows the summary for some seconds only', async () => {
    await hub.turn(id, '/burst 10')
    const page = await device.browser.timed(desktop, Date.now() + 7_200_000)
    const back = await Screen.open(page, `${device.origin}/s/${id}`)
    await back.reaches(id, hub.lastSeq(id))
    await card(back).waitFor()
    await page.clock.fastForward(9_000)
    await card(back).waitFor({ state: 'detached' })
    expect(back.errors).toEqual([])
    await page.close()
  })

  test('does not move the text being read while the start of its message is loaded', async () => {
    const far = await Device.pair(hub, { origin: proxy.origin })
    const slow = await far.watch(id, desktop)
    await slow.reaches(id, hub.lastSeq(id))
    await proxy.tell('delay 400ms')
    await slow.go(`/s/${id}?seq=50000`)
    // The window begins with the last two of forty chunks of a message.
    const text = 'Word 399 of turn 100.'
    const moved = await slow.page.evaluate(async (text) => {
      const feed = document.querySelector('[role=feed]')!
      const painted = () => new Promise((resolve) => requestAnimationFrame(resolve))
      const head = () => Number((document.documentElement.dataset['window'] ?? '').split('-')[0])
      const top = () => {
        const row = [...feed.querySelectorAll('article')].find((r) => r.textContent?.includes(text))
        const walk = document.createTreeWalker(row ?? feed, NodeFilter.SHOW_TEXT)
        while (walk.nextNode()) {
          const at = walk.currentNode.textContent!.indexOf(text)
          if (at < 0) continue
          const range = document.createRange()
          range.setStart(walk.currentNode, at)
          range.setEnd(walk.currentNode, at + text.length)
          return range.getBoundingClientRect().top
        }
        return NaN
      }
      while (!head()) await painted()
      const first = head()
      feed.scrollTop = 0
      for (let i = 0; i < 5; i++) await painted()
      while (Number.isNaN(top())) await painted() // the parser may not be loaded yet
      const row = [...feed.querySelectorAll('article')].find((r) => r.textContent?.includes(text))!
      row.focus({ preventScroll: true })
      const tops: number[] = []
      const deadline = performance.now() + 60_000
      for (let after = 0; after < 20 && performance.now() < deadline;) {
        tops.push(top())
        if (head() < first) after++
        await painted()
      }
      const focused = document.activeElement === row
      return { from: first, to: head(), focused, by: tops.map((t) => Math.round(t - tops[0]!)) }
    }, text)
    expect(moved.to).toBeLessThan(moved.from)
    expect(moved.focused, 'the row is the same, and the focus in it').toBe(true)
    // The start of the message may move the text by a line of its paragraph, but no further.
    expect(moved.by.filter((by) => !(Math.abs(by) <= 30))).toEqual([])
    await far.stop()
  })

  test('jumps to a seq again when its link is followed again', async () => {
    const again = await device.open(`/s/${id}?seq=70000`, desktop)
    await sees(again, 70_000)
    const inSight = async () => (await inView(again)).some((r) => r.first <= 70_000 && 70_000 <= r.last)
    await until('the reader elsewhere', async () => {
      // Once is not enough: the jump holds its place until the rows around it are measured.
      await again.page.evaluate(() => (document.querySelector('[role=feed]')!.scrollTop -= 5_000))
      return !(await inSight())
    })
    const sizes = await again.page.evaluate(() =>
      [...document.querySelectorAll('article')].map((r) => r.getAttribute('aria-setsize')),
    )
    expect(new Set(sizes)).toEqual(new Set(['-1']))
    await again.go(`/s/${id}?seq=70000`)
    await sees(again, 70_000)
    await again.page.close()
  })

  test('without errors in the page', () => expect(screen.errors).toEqual([]))
})
