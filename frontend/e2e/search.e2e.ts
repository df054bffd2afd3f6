import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const hostile = '<img src=x onerror="window.rig.ran.push(1)">'

describe.each([
  { name: 'at a desktop', size: desktop },
  { name: 'on a phone', size: phone },
])('search $name', ({ size }) => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let id: string

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    id = await hub.newSession('Holidays')
    await hub.turn(id, '/markdown')
    const other = await hub.newSession('Other')
    await hub.prompt(other, `And now ${hostile}`)
    await hub.event(other, 'user_prompt')
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })
  beforeEach(async () => {
    screen = await device.open('/', size)
    await screen.page.locator('html[data-link=open]').waitFor()
    await field().waitFor()
    return async () => {
      expect(screen.errors).toEqual([])
      await screen.page.close()
    }
  })

  const field = () => screen.page.getByRole('searchbox', { name: 'Search sessions' })
  const hits = () => screen.page.locator('.hit')
  const said = (text: string | RegExp) =>
    screen.page.locator('.sessions [role=status]').filter({ hasText: text }).waitFor()

  /** A phrase the agent streamed in several chunks, and the seq it begins in. */
  function phrase(): { text: string; seq: number } {
    const chunks = hub.events(id).filter((e) => e.type === 'agent_message')
    const at = chunks.findIndex(
      (e, i) =>
        i + 1 < chunks.length &&
        chunks[i + 1]!.data.message_id === e.data.message_id &&
        /\w{3}/.test(String(e.data.text)) &&
        !/[\n\t]/.test(String(e.data.text) + String(chunks[i + 1]!.data.text)),
    )
    const text = (String(chunks[at]!.data.text) + String(chunks[at + 1]!.data.text)).trim()
    const whole = chunks.map((e) => String(e.data.text)).join('')
    expect(whole.split(text)).toHaveLength(2)
    return { text, seq: chunks[at]!.seq }
  }

  test.runIf(size === desktop)(
    'a phrase of an answer is found by the keyboard and opened at its event',
    async () => {
      const { text, seq } = phrase()
      await screen.page.keyboard.press('/')
      await screen.page.keyboard.type(text.toUpperCase())
      await said('1 place in 1 session')
      expect((await hits().locator('mark').textContent())!.toLowerCase()).toBe(text.toLowerCase())
      await screen.page.keyboard.press('ArrowDown')
      await screen.page.keyboard.press('Enter')
      await screen.page.waitForURL(`**/s/${id}?seq=${seq}`)
      await until(`seq ${seq} in view`, () =>
        screen.page.evaluate((seq) => {
          const row = [...document.querySelectorAll<HTMLElement>('article[data-seq]')].find(
            (r) => Number(r.dataset['seq']) <= seq && seq <= Number(r.dataset['last'] ?? r.dataset['seq']),
          )
          const box = row?.getBoundingClientRect()
          return box !== undefined && box.top < innerHeight && box.bottom > 0
        }, seq),
      )
    },
  )

  test('hostile text is shown as text, in the query and in what is found', async () => {
    await field().fill(hostile)
    await said(/places? in 1 session/)
    expect(await hits().locator('mark').first().textContent()).toBe(hostile)
    await field().fill(`${hostile} nowhere`)
    await said(`Nothing found for ${hostile} nowhere`)
    expect(await screen.page.locator('.sessions img').count()).toBe(0)
    const watched = await screen.watched()
    expect(watched.ran).toEqual([])
    expect(watched.violations).toEqual([])
  })

  test('Esc ends a search under way, takes its request back and keeps the words', async () => {
    const held: (() => Promise<void>)[] = []
    await screen.page.route('**/api/search?*', (route) => void held.push(() => route.continue()))
    const taken = screen.page.waitForEvent('requestfailed', (r) => r.url().includes('/api/search'))
    await field().fill('anything')
    await screen.page.getByText('Searching …').waitFor()
    await until('the request on its way', () => held.length === 1)
    await field().press('Escape')
    expect((await taken).failure()?.errorText).toContain('ABORTED')
    await said('Search stopped')
    expect(await field().inputValue()).toBe('anything')
    await screen.page.unroute('**/api/search?*')
    await screen.page.getByRole('button', { name: 'Go on' }).click()
    await said('Nothing found for anything')
  })
})
