// The choice of theme, and the keys that step through a session.
import { beforeAll, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { until } from './rig/until.ts'

describe('a person at a desktop', () => {
  const at = paired()
  let session: string

  beforeAll(async () => {
    session = await at.hub.newSession('With everything')
    await at.hub.turn(session, '/slow 1')
    await at.hub.prompt(session, '/edit notes.md')
    await at.hub.event(session, 'permission_request')
  })

  test('chooses the theme: light, dark or the system’s, which the next page has too', async () => {
    const { page } = await at.device.open('/settings', desktop)
    const shown = () => page.evaluate(() => getComputedStyle(document.body).color)
    const choose = (name: string) => page.getByRole('radio', { name }).check()
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByRole('radio', { name: 'System' }).waitFor()
    const light = await shown()
    await page.emulateMedia({ colorScheme: 'dark' })
    await until('the system’s other theme', async () => (await shown()) !== light)
    const dark = await shown()
    await choose('Light')
    await until('light by choice', async () => (await shown()) === light)
    await page.reload()
    await until('light in the next page', async () => (await shown()) === light)
    await choose('System')
    await until('dark as the system is', async () => (await shown()) === dark)
    await page.emulateMedia({ colorScheme: 'light' })
    await choose('Dark')
    await until('dark by choice', async () => (await shown()) === dark)
    await page.reload()
    await until('dark in the next page', async () => (await shown()) === dark)
    await choose('System')
    await page.close()
  })

  test('steps by keys to tool calls, changes and errors, opens the focused one, and reads its raw event', async () => {
    const screen = await at.device.watch(session, desktop)
    const { page } = screen
    await screen.answer('Allow once')
    await at.hub.event(session, 'permission_outcome')
    await at.hub.idle(session)
    await at.hub.turn(session, '/refuse')
    await screen.reaches(session, at.hub.lastSeq(session))
    const log = at.hub.events(session)
    const call = log.find((e) => e.type === 'tool_call')!
    const refused = log.findLast((e) => e.type === 'turn_end')!
    /** The first and the last seq of the focused row. */
    const focused = () =>
      page.evaluate(() => {
        const { seq, last } = document.activeElement?.closest<HTMLElement>('[data-key]')?.dataset ?? {}
        return [Number(seq), Number(last)] as const
      })
    const on = (what: string, seq: number) =>
      until(what, async () => {
        const [first, last] = await focused()
        return first <= seq && seq <= last
      })
    await screen.feed.focus()
    for (const key of ['g', 'g']) await page.keyboard.press(key)
    await page.keyboard.press('e')
    await on('the turn that ended in an error', refused.seq)
    await page.keyboard.press('p')
    await until('a tool call above it', async () => (await focused())[1] < refused.seq)
    await page.keyboard.press('k')
    await page.keyboard.press('n')
    await until('a tool call again', async () => (await focused())[1] < refused.seq)
    for (const key of ['g', 'g']) await page.keyboard.press(key)
    const first = screen.feed.locator('[data-key]').first()
    await first.focus()
    await page.keyboard.press('d')
    await on('the change', call.seq)
    const opens = page.locator(':focus [aria-expanded]').first()
    const before = await opens.getAttribute('aria-expanded')
    await page.keyboard.press('o')
    await until('the other way', async () => (await opens.getAttribute('aria-expanded')) !== before)
    const details = page.getByRole('complementary', { name: 'Details' })
    await details.getByText('Inspect', { exact: true }).click()
    await details.getByRole('button', { name: 'Raw event' }).click()
    await details.getByText('tool_call', { exact: false }).first().waitFor()
    await expect.poll(() => details.innerText()).toContain(`Event ${call.seq}`)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('goes up and down the list of sessions by [ and ]', async () => {
    const other = await at.hub.newSession('Another')
    const screen = await at.device.watch(session, desktop)
    const order = () =>
      screen.page
        .locator('[role=navigation] a[href^="/s/"]')
        .evaluateAll((all) => all.map((a) => a.getAttribute('href')!.slice(3)))
    await until('both', async () => (await order()).length === 2)
    const below = (await order()).indexOf(other) > 0
    await screen.feed.focus()
    await screen.page.keyboard.press(below ? ']' : '[')
    await screen.page.locator(`html[data-session="${other}"]`).waitFor()
    await until('the feed of the other session with the focus', () =>
      screen.page.evaluate(() => document.activeElement?.getAttribute('role') === 'feed'),
    )
    await screen.page.keyboard.press(below ? '[' : ']')
    await screen.page.locator(`html[data-session="${session}"]`).waitFor()
    await screen.page.close()
  })
})
