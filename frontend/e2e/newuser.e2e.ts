import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, desktop, phone } from './rig/browser.ts'
import { Hub } from './rig/hub.ts'
import { expectWhole, shownBy } from './rig/oracle.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe.each([
  { name: 'a desktop', size: desktop },
  { name: 'a phone', size: phone },
])('a new user at $name', ({ size }) => {
  let hub: Hub
  let browser: Browser
  let screen: Screen
  let session: string

  beforeAll(async () => {
    hub = await Hub.start()
    browser = await Browser.start(size)
  })
  afterAll(async () => {
    await browser.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('opens the printed link, and the code is removed from the address at once', async () => {
    expect(hub.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#pair=/)
    screen = await Screen.open(await browser.window(size), hub.link)
    await screen.page
      .getByRole('button', { name: 'Start your first session' })
      .filter({ visible: true })
      .waitFor()
    expect(screen.page.url()).toBe(`${hub.origin}/`)
    expect(await screen.page.evaluate(() => history.length)).toBeLessThanOrEqual(2)
    expect(screen.requests.filter((url) => url.includes('pair='))).toEqual([])
  })

  test('sees one button for a new session, the one for the first session', async () => {
    const buttons = screen.page.getByRole('button', { name: /session/i }).filter({ visible: true })
    await expect.poll(() => buttons.allTextContents()).toEqual(['Start your first session'])
    await expect.poll(() => screen.page.locator('button.main').filter({ visible: true }).count()).toBe(1)
  })

  test('cannot use the link a second time', async () => {
    const other = await Browser.start(size)
    const refused = await Screen.open(await other.window(size), hub.link)
    await refused.page.getByText('Pair this device').waitFor()
    await refused.page.getByText('Pairing failed').waitFor()
    await other.stop()
  })

  test('uses a link also in a tab that shows the pairing screen', async () => {
    const other = await Browser.start(size)
    const tab = await Screen.open(await other.window(size), hub.origin)
    await tab.page.getByText('Pair this device').waitFor()
    const link = hub.pairLink()
    await tab.page.evaluate((link) => location.assign(link), link)
    await tab.page
      .getByRole('button', { name: 'Start your first session' })
      .filter({ visible: true })
      .waitFor()
    expect(tab.page.url()).toBe(`${hub.origin}/`)
    await other.stop()
    const told = screen.page.getByRole('complementary', { name: 'New access' })
    await told.getByText('New device signed in').waitFor()
    await told.getByRole('button', { name: 'Dismiss' }).click()
  })

  test('has no session keys on the pairing screen', async () => {
    const other = await Browser.start(size)
    const { page, requests } = await Screen.open(await other.window(size), hub.origin)
    await page.getByText('Pair this device').waitFor()
    for (const key of ['c', 'Control+k', '?']) await page.keyboard.press(key)
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
    expect(requests.filter((url) => /\/dialogs-/.test(url))).toEqual([])
    expect(await page.getByRole('dialog').count()).toBe(0)
    await other.stop()
  })

  test('starts a session and prompts the demo agent', async () => {
    const { page } = screen
    await page.getByRole('button', { name: 'Start your first session' }).filter({ visible: true }).click()
    await page.getByLabel('First prompt').fill('Show me around')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL('**/s/*')
    session = new URL(page.url()).pathname.slice('/s/'.length)
    await screen.feed.getByText('Show me around').first().waitFor()
  })

  test('is asked before a file is changed, sees the change, and answers', async () => {
    await screen.permission.waitFor()
    await screen.permission.getByText('GREETING.md').first().waitFor()
    const all = screen.permission.getByRole('button', { name: 'Show all of it' }) // of a folded one, on a phone
    if (await all.isVisible()) await all.click()
    await screen.permission.getByText('abide was here, and kept everything.').first().waitFor()
    await screen.answer('Allow once')
    const outcome = await hub.event(session, 'permission_outcome')
    expect(outcome.data).toMatchObject({ outcome: 'selected', option_id: 'yes' })
    await screen.permission.waitFor({ state: 'detached' })
  })

  test('watches the tour to its end: plan, tools, output and answer', async () => {
    const end = await hub.event(session, 'turn_end')
    expect(end.data.stop_reason).toBe('end_turn')
    await screen.reaches(session, end.seq)
    await hub.idle(session)
    for (const words of [
      'hello from the demo agent',
      'nothing was changed|I wrote',
      'Read README.md|README.md',
    ]) {
      await screen.feed.getByText(new RegExp(words)).first().waitFor()
    }
    await expectWhole(screen, hub, session)
  })

  test('opens a second tab that shows the identical feed', async () => {
    const second = await Screen.open(await browser.window(size), `${hub.origin}/s/${session}`)
    await expectWhole(second, hub, session)
    expect(await shownBy(second)).toEqual(await shownBy(screen))
    await until('both screens at the same facts', async () => {
      const [a, b] = [await screen.facts(), await second.facts()]
      return a.seq === b.seq && a.applied === b.applied
    })
    await second.page.close()
  })

  test('finds the session again in the list, under the title the agent gave it', async () => {
    const list = await Screen.open(await browser.window(size), hub.origin)
    await list.page.getByRole('link', { name: /Show me around/ }).click()
    await list.reaches(session, hub.lastSeq(session))
    await list.page.close()
  })

  test('has no errors in the page', async () => {
    expect(screen.errors).toEqual([])
    const elsewhere = screen.requests.filter(
      (url) => new URL(url).host !== hub.addr && !url.startsWith('blob:'),
    )
    expect(elsewhere).toEqual([])
  })
})
