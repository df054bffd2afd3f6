import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { longSession } from './rig/longsession.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** Waits until a page of the plain log is loaded, and returns the range of events it says it covers. */
async function covered(screen: Screen, number: number): Promise<{ first: number; last: number }> {
  await screen.page.locator(`.plain[aria-busy=false][data-plain="${number}"]`).waitFor()
  const said = await screen.page.locator('[data-covers]').getAttribute('data-covers')
  const [first, last] = said!.split('-').map(Number)
  return { first: first!, last: last! }
}

describe('a session as one plain page', () => {
  const hub = new Hub()
  let device: Device
  let long: string

  beforeAll(async () => {
    long = longSession(hub, 5_000)
    await hub.start()
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('is reached from the commands of the session, and holds each event of its log once, page by page', async () => {
    const screen = await device.watch(long, phone)
    await screen.page.getByRole('button', { name: 'More', exact: true }).click()
    await screen.page.getByRole('menuitem', { name: 'All commands…' }).click()
    await screen.page.getByRole('option', { name: 'Open printable transcript' }).click()
    const log = hub.events(long)
    const newest = await covered(screen, 3)
    expect(newest.last).toBe(log.at(-1)!.seq)
    await expect
      .poll(() => screen.page.evaluate(() => document.activeElement?.tagName), { message: 'the title' })
      .toBe('H1')
    await screen.page.getByRole('link', { name: 'First' }).first().click()
    let next = 1
    for (let number = 1; number <= 3; number++) {
      const { first, last } = await covered(screen, number)
      expect(first).toBe(next)
      next = last + 1
      // All rows are rendered, also those far from the view.
      const asked = log.filter((e) => e.type === 'user_prompt' && e.seq >= first && e.seq <= last)
      const shown = await screen.page.locator('.asked').evaluateAll((all) => all.map((e) => e.dataset['seq']))
      expect(shown.map(Number)).toEqual(asked.map((e) => e.seq))
      const wide = await screen.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(wide, 'nothing is wider than the screen').toBeLessThanOrEqual(0)
      if (number < 3) await screen.page.getByRole('link', { name: 'Later' }).first().click()
    }
    expect(next).toBe(log.at(-1)!.seq + 1)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('can be searched by the browser and printed whole, in light colours also in the dark theme', async () => {
    const screen = await device.open(`/s/${long}/plain?page=1`, desktop)
    await screen.page.emulateMedia({ colorScheme: 'dark' })
    const { last } = await covered(screen, 1)
    const prompts = hub.events(long).filter((e) => e.type === 'user_prompt' && e.seq <= last)
    const end = prompts.at(-1)!
    // The browser's own search finds text far below the view.
    const found = await screen.page.evaluate(
      ([seq]) => {
        const words = document.querySelector(`.asked[data-seq="${seq}"] p`)!.textContent!.slice(0, 60)
        return (window as unknown as { find(words: string): boolean }).find(words)
      },
      [end.seq],
    )
    expect(found).toBe(true)
    const cdp = await device.browser.context.newCDPSession(screen.page)
    const { data } = (await cdp.send('Page.printToPDF', {})) as { data: string }
    const sheets = Buffer.from(data, 'base64')
      .toString('latin1')
      .match(/\/Type\s*\/Page\b/g)!.length
    expect(sheets).toBeGreaterThan(20)
    await screen.page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await screen.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe(
      'light',
    )
    expect(await screen.page.getByRole('navigation').count(), 'no links to pages on paper').toBe(0)
    await screen.page.close()
  })

  test('is offered by the palette, shows new events when asked, and leads back to the session', async () => {
    const id = await hub.newSession('Plain')
    await hub.turn(id, '/burst 40')
    const screen = await device.watch(id)
    await screen.page.keyboard.press('Escape') // out of the composer
    await screen.page.keyboard.press('Control+k')
    await screen.page.getByRole('combobox', { name: 'Command or session' }).fill('printable')
    await screen.page.keyboard.press('Enter')
    const before = await covered(screen, 1)
    expect(before).toEqual({ first: 1, last: hub.lastSeq(id) })
    await hub.turn(id, '/burst 40')
    await screen.page.getByText(/more events have come since/).waitFor()
    await screen.page.getByRole('button', { name: 'Load new events' }).click()
    await until('what is new', async () => (await covered(screen, 1)).last === hub.lastSeq(id))
    await screen.page.getByRole('link', { name: 'Back to the session' }).click()
    await screen.reaches(id, hub.lastSeq(id))
    // The session screen is as high as the window again.
    await screen.composer.waitFor()
    const below = await screen.composer.evaluate((box) => innerHeight - box.getBoundingClientRect().bottom)
    expect(below).toBeGreaterThan(0)
    expect(below).toBeLessThan(60)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('has the name of the session as its heading, or without the list the title its agent gave it', async () => {
    const id = await hub.newSession('')
    await hub.prompt(id, 'Sort the invoices')
    const { data } = await hub.event(id, 'title')
    await hub.api('PATCH', `/api/sessions/${id}`, { name: 'The cellar' })
    const screen = await device.open(`/s/${id}/plain`)
    await covered(screen, 1)
    const heading = screen.page.getByRole('heading', { level: 1 })
    await until('the name', async () => (await heading.textContent()) === 'The cellar')
    // Without the hub's list and without the one that an earlier page stored.
    await screen.page.route(/\/api\/sessions(\?|$)/, (route) => route.abort())
    await screen.page.addInitScript(() => localStorage.removeItem('abide.list'))
    await screen.page.reload()
    await covered(screen, 1)
    await expect.poll(() => heading.textContent()).toBe(data.title)
    expect(data.title).toContain('Sort the invoices')
    await screen.page.close()
  })

  test('shows that the hub is unreachable, and retries when asked', async () => {
    const screen = await device.open(`/s/${long}/plain?page=1`)
    await covered(screen, 1)
    await hub.kill()
    await screen.page.getByRole('link', { name: 'Later' }).first().click()
    await screen.page.getByText('The hub cannot be reached.').waitFor()
    await hub.start()
    await screen.page.getByRole('button', { name: 'Try again' }).click()
    await covered(screen, 2)
    await screen.page.close()
  })
})
