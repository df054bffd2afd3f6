import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { alone, until } from './rig/until.ts'

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

  /** A phrase that spans several chunks of the agent, and the seq of its first chunk. */
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

  test('a phrase of an answer is found by the keyboard and opened at its event', async () => {
    const { text, seq } = phrase()
    await screen.page.keyboard.press('/')
    await screen.page.keyboard.type(`"${text.toUpperCase()}"`)
    await said('1 match in 1 session')
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
  })

  test('a search is narrowed by project, agent, lifecycle and person', async () => {
    await field().fill('markdown')
    await said(/match(es)? in 1 session/)
    const asked: URLSearchParams[] = []
    screen.page.on('request', (r) => {
      const { pathname, searchParams } = new URL(r.url())
      if (pathname === '/api/search') asked.push(searchParams)
    })
    await screen.page.getByRole('button', { name: 'More filters' }).click()
    const group = screen.page.getByRole('group', { name: 'More filters' })
    await group.getByRole('combobox', { name: 'Project' }).selectOption({ label: 'work' })
    await said(/match(es)? in 1 session/)
    await group.getByRole('combobox', { name: 'Agent', exact: true }).selectOption('demo')
    await group.getByRole('combobox', { name: 'Lifecycle' }).selectOption('failed')
    await said('Nothing found for markdown')
    await shot(screen, `search-filters-${size.width}`)
    expect(Object.fromEntries(asked.at(-1)!)).toMatchObject({
      project: hub.workspace,
      agent: 'demo',
      lifecycle: 'failed',
    })
    await group.getByRole('combobox', { name: 'Lifecycle' }).selectOption('')
    await said(/match(es)? in 1 session/)
    await group.getByRole('combobox', { name: 'Person' }).fill('somebody else')
    await said('Nothing found for markdown')
    // Closed, they narrow nothing.
    await screen.page.getByRole('button', { name: 'More filters' }).click()
    await said(/match(es)? in 1 session/)
    expect([...asked.at(-1)!.keys()].sort()).toEqual(['cursor', 'q'])
  })

  test('hostile text is shown as text, in the query and in what is found', async () => {
    await field().fill(hostile)
    await said(/match(es)? in 1 session/)
    await expect.poll(() => hits().first().locator('mark').allTextContents()).toEqual(hostile.split(' '))
    await field().fill(`${hostile} nowhere`)
    await said(`Nothing found for ${hostile} nowhere`)
    expect(await screen.page.locator('.sessions img').count()).toBe(0)
    const watched = await screen.watched()
    expect(watched.ran).toEqual([])
    expect(watched.violations).toEqual([])
  })

  test('Esc ends a running search, aborts its request and keeps the words', async () => {
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
    await screen.page.getByRole('button', { name: 'Continue' }).click()
    await said('Nothing found for anything')
  })

  test('Esc empties the field and shows the list again, and then leaves the field', async () => {
    await field().fill('nowhere to be found')
    await said('Nothing found for nowhere to be found')
    await field().press('Escape')
    await screen.page.locator('.sessions .foot').waitFor({ state: 'detached' })
    await screen.page.locator('.sessions [data-entry]').first().waitFor()
    await expect.poll(() => field().inputValue()).toBe('')
    await expect.poll(() => field().evaluate((input) => input === document.activeElement)).toBe(true)
    await field().press('Escape')
    await expect.poll(() => field().evaluate((input) => input === document.activeElement)).toBe(false)
  })

  test('a search the hub refuses shows why, and is retried', async () => {
    let refusals = 0
    await screen.page.route('**/api/search?*', (route) => {
      refusals++
      return route.fulfill({
        status: 503,
        contentType: 'application/json',
        body: '{"error":{"code":"busy","message":"too many searches are under way, try again in a moment"}}',
      })
    })
    await field().fill('nowhere to be found')
    const alert = screen.page.locator('.sessions [role=alert]')
    await alert.filter({ hasText: 'too many searches are under way, try again in a moment' }).waitFor()
    expect(refusals).toBe(1)
    expect(await screen.page.getByText('Nothing found').count()).toBe(0)
    await screen.page.unroute('**/api/search?*')
    await screen.page.locator('.sessions').getByRole('button', { name: 'Try again' }).click()
    await said('Nothing found for nowhere to be found')
    await expect.poll(() => alert.count()).toBe(0)
    // Chromium logs each refused request as an error.
    screen.errors.splice(0, screen.errors.length, ...screen.errors.filter((e) => !e.includes('503')))
  })
})

test('without a connection only titles are searched, and the text once it is back', async () => {
  const proxy = await FaultProxy.start()
  const hub = await Hub.start({ publicNames: [proxy.addr] })
  await proxy.to(hub.addr)
  const device = await Device.pair(hub, { origin: proxy.origin })
  try {
    const id = await hub.newSession('Holidays')
    await hub.turn(id, '/markdown')
    const { page } = await device.open('/')
    await page.locator('html[data-link=open]').waitFor()
    const field = page.getByRole('searchbox', { name: 'Search sessions' })
    await field.waitFor()
    // The chunk for the search is in the cache of the service worker, which starts a while after the first screen.
    await alone(page)
    await proxy.tell('blackhole')
    await proxy.tell('rst')
    await page.locator('html[data-link=waiting], html[data-link=offline]').waitFor()
    await field.fill('/markdown')
    await page.getByText('Offline. Only titles are searched').waitFor()
    expect(await page.locator('.hit').count()).toBe(0)
    await expect.poll(() => page.getByText('Nothing found').count()).toBe(0)
    await field.fill('holidays')
    await page
      .locator('.sessions')
      .getByRole('link', { name: /Holidays/ })
      .waitFor()
    await field.fill('/markdown')
    await proxy.tell('heal')
    await page.locator('.hit').first().waitFor()
    await expect.poll(() => page.getByText('Offline. Only titles are searched').count()).toBe(0)
  } finally {
    await device.stop()
    await hub.stop()
    await proxy.stop()
  }
})
