import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barriers, ofColours } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import { longSession } from './rig/longsession.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const wide: Size = { width: 1440, height: 900 }

/** The seq that the player is at. */
const place = (screen: Screen) =>
  screen.page
    .locator('[data-play]')
    .getAttribute('data-play')
    .then((seq) => Number(seq))

/** The last seqs of the rows in the page. */
const lasts = (screen: Screen) =>
  screen.page.locator('article[data-last]').evaluateAll((all) => all.map((e) => Number(e.dataset['last'])))

async function at(screen: Screen, seq: number): Promise<void> {
  await screen.page.locator(`[data-play="${seq}"][data-busy=false]`).waitFor()
}

/** The text of a downloaded page if it is complete. */
function whole(file: string): string | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text.trimEnd().endsWith('</html>') ? text : undefined
}

async function expectOpenToAll(screen: Screen): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await screen.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const rules = colorScheme === 'light' ? undefined : ofColours
    expect(await barriers(screen.page, rules), colorScheme).toEqual([])
  }
}

describe('a session, played back', () => {
  const hub = new Hub({
    config: 'undo_wait: 1m\n',
    agents: { bulk: [process.execPath, join(import.meta.dirname, 'rig/bulk-agent.mjs')] },
  })
  let device: Device
  let long: string
  let tour: string

  beforeAll(async () => {
    long = longSession(hub, 3_000)
    await hub.start()
    device = await Device.pair(hub)
    tour = await hub.newSession('Tour')
    await hub.turn(tour, '/markdown')
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('is played by keys like a film, and its address has the current seq', async () => {
    const screen = await device.open(`/s/${long}/play?seq=1200`, wide)
    const { keyboard } = screen.page
    await at(screen, 1200)
    // The list of turns shows the one that is played.
    const now = screen.page.locator('nav button[aria-current=step]')
    const below = async () => (await now.boundingBox())!.y + (await now.boundingBox())!.height
    const panel = (await screen.page.locator('aside.beside').boundingBox())!
    await expect.poll(below).toBeLessThanOrEqual(panel.y + panel.height + 1)
    await shot(screen, 'play-wide')
    await keyboard.press('.')
    await at(screen, 1201)
    await keyboard.press(',')
    await at(screen, 1200)
    await keyboard.press('5')
    const last = hub.events(long).at(-1)!.seq
    await at(screen, Math.round(1 + (last - 1) / 2))
    const turn = hub.events(long).findLast((e) => e.type === 'user_prompt' && e.seq < (1 + last) / 2)!
    await keyboard.press('{')
    await at(screen, turn.seq)
    await keyboard.press(']')
    const next = hub.events(long).find((e) => e.type === 'user_prompt' && e.seq > turn.seq)!
    await at(screen, next.seq)
    await expect.poll(() => new URL(screen.page.url()).search).toBe(`?seq=${next.seq}`)
    // The feed shows the events up to there, and none after.
    await expect.poll(async () => Math.max(...(await lasts(screen)))).toBe(next.seq)
    for (let i = 0; i < 4; i++) await keyboard.press('>')
    await keyboard.press('Space')
    await expect.poll(() => place(screen)).toBeGreaterThan(next.seq + 5)
    await keyboard.press('Space')
    await screen.page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    await expectOpenToAll(screen)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('opens at the last prompt, paused, with what led to it', async () => {
    const screen = await device.open(`/s/${long}/play`, phone)
    const asked = hub.events(long).findLast((e) => e.type === 'user_prompt')!
    await at(screen, asked.seq)
    await screen.page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    const rows = await screen.page
      .locator('article[data-last]')
      .evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).filter((r) => r.bottom > 0).length)
    expect(rows).toBeGreaterThan(1)
    await screen.page.close()
  })

  test('is played on a phone by touch, with a timeline large enough for a thumb', async () => {
    const screen = await device.watch(tour, phone)
    await screen.page.getByRole('button', { name: 'More', exact: true }).click()
    await screen.page.getByRole('menuitem', { name: 'Play back' }).click()
    await at(screen, hub.lastSeq(tour)) // its only turn, whole
    await screen.page.getByRole('button', { name: 'Play', exact: true }).waitFor()
    const slider = screen.page.getByRole('slider', { name: 'Timeline' })
    const box = (await slider.boundingBox())!
    expect(box.height).toBeGreaterThanOrEqual(44)
    await screen.page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2).catch(async () => {
      await screen.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
    })
    await expect.poll(() => place(screen)).toBeLessThan(hub.lastSeq(tour))
    await shot(screen, 'play-phone')
    await screen.page.getByRole('button', { name: 'Turns and keys' }).click()
    await screen.page
      .getByRole('navigation', { name: 'Turns' })
      .getByRole('button', { name: /markdown/ })
      .click()
    const asked = hub.events(tour).find((e) => e.type === 'user_prompt')!
    await at(screen, asked.seq)
    const across = await screen.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(across, 'nothing is wider than the screen').toBeLessThanOrEqual(0)
    await expectOpenToAll(screen)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('steps by tool call, shows the time, copies a link, and restarts at its end', async () => {
    const id = await hub.newSession('Commands')
    await hub.turn(id, '/term')
    await hub.turn(id, '/term')
    const screen = await device.open(`/s/${id}/play?seq=1`, wide)
    const { keyboard } = screen.page
    await at(screen, 1)
    const calls = hub.events(id).filter((e) => e.type === 'tool_call')
    await keyboard.press('n')
    await at(screen, calls[0]!.seq)
    await keyboard.press('n')
    await at(screen, calls[1]!.seq)
    await keyboard.press('p')
    await at(screen, calls[0]!.seq)
    await screen.page.getByRole('combobox', { name: 'Timeline by' }).selectOption('time')
    await screen.page.getByRole('slider', { name: 'Timeline' }).focus()
    await at(screen, calls[0]!.seq)
    await screen.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await screen.page.locator('body').press('c')
    const copied = () => screen.page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(copied).toBe(`${hub.origin}/s/${id}/play?seq=${calls[0]!.seq}`)
    await keyboard.press('End')
    await at(screen, hub.lastSeq(id))
    await keyboard.press('r')
    await keyboard.press('k')
    await expect.poll(() => place(screen)).toBeLessThan(hub.lastSeq(id))
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  // Proof 4.
  test('is rewound while the agent sends 200 updates a second, and catches up at 4× without a gap', async () => {
    const live = await hub.newSession('Rewound', 'bulk')
    const viewer = await device.open(`/s/${live}`, wide)
    const screen = await device.open(`/s/${live}/play?seq=1`, wide)
    await at(screen, 1)
    await hub.prompt(live, 'grow 1 5')
    await screen.page.getByRole('button', { name: 'Live' }).click()
    await expect.poll(() => place(screen)).toBeGreaterThan(200)
    await screen.page.keyboard.press('0')
    await at(screen, 1)
    await screen.page.getByLabel('Speed').selectOption('4')
    await screen.page.keyboard.press('k')
    await hub.event(live, 'turn_end')
    const last = hub.lastSeq(live)
    // The player has caught up: it is at the end, with all words of the agent once and in order.
    await expect.poll(() => place(screen)).toBe(last)
    const words = Array.from({ length: 1000 }, (_, i) => `word ${i}`).join(' ')
    const said = async (of: Screen) =>
      (await of.page.locator('article .message').allTextContents())
        .join(' ')
        .match(/word .*/s)?.[0]
        .trim()
    await expect.poll(() => said(screen)).toBe(words)
    // A step back and forth makes the player show its own feed instead of the live one.
    await screen.page.keyboard.press(',')
    await screen.page.keyboard.press('.')
    await at(screen, last)
    // That feed may begin only a page before the end: scrolling to the top loads the rest.
    const scrolled = async () => {
      await screen.feed.evaluate((feed) => feed.scrollTo(0, 0))
      return said(screen)
    }
    await expect.poll(scrolled).toBe(words)
    // The other screen, which watched live, has the same words.
    await viewer.reaches(live, last)
    expect((await viewer.facts()).applied).toBe(last)
    await expect.poll(() => said(viewer)).toBe(words)
    expect(hub.events(live).at(-1)!.type).toBe('turn_end')
    expect(screen.errors.concat(viewer.errors)).toEqual([])
    await viewer.page.close()
    await screen.page.close()
  })

  test('is reviewed: its turns, its changes by file, and comments that a second screen sees', async () => {
    const edited = await hub.newSession('Edited')
    await hub.prompt(edited, '/edit a.md')
    const asked = await hub.event(edited, 'permission_request')
    await hub.api('POST', `/api/sessions/${edited}/permissions/${asked.data.permission_id}`, {
      option_id: asked.data.options.find((o) => o.kind === 'allow_once')!.option_id,
    })
    await hub.event(edited, 'turn_end')
    const last = hub.lastSeq(edited)
    const screen = await device.open(`/s/${edited}/review`, { width: 1280, height: 800 })
    const other = await device.open(`/s/${edited}/review`, phone)
    await at(screen, last)
    await screen.page.getByRole('tab', { name: 'Changes' }).click()
    await screen.page.locator(`[data-changes="${last}"]`).waitFor()
    await shot(screen, 'review-changes')
    await screen.page.locator('[data-changes] .l.add .n').first().click()
    await screen.page.getByRole('button', { name: 'See the edit' }).click()
    await expect.poll(() => place(screen)).toBeLessThan(last)
    await screen.page.getByRole('tab', { name: 'Comments' }).click()
    await other.page.getByRole('tab', { name: 'Comments' }).click()
    await screen.page.getByLabel(/^Comment on /).fill('Say why here.')
    await screen.page.getByRole('button', { name: 'Add comment' }).click()
    await other.page.getByText('Say why here.').waitFor()
    await other.page.getByRole('button', { name: 'Edit', exact: true }).click()
    await other.page.getByRole('textbox', { name: /^Text of the comment/ }).fill('Say why here, and how.')
    await other.page.getByRole('button', { name: 'Save' }).click()
    await screen.page.getByText('Say why here, and how.').waitFor()
    // On a phone the panel closes when a place is chosen in it.
    const panel = other.page.getByRole('complementary', { name: 'Turns, changes and comments' })
    await panel.locator('button.place').first().click()
    await panel.waitFor({ state: 'detached' })
    await expect.poll(() => place(other)).toBe(await place(screen))
    await other.page.getByRole('button', { name: 'Turns, changes and comments' }).click()
    await other.page.getByRole('button', { name: 'Resolve' }).click()
    await screen.page.getByRole('button', { name: 'Open again' }).waitFor()
    await shot(screen, 'review-comments')
    await shot(other, 'review-phone')
    await expectOpenToAll(screen)
    await expectOpenToAll(other)
    await screen.page.getByRole('searchbox').last().fill('a.md')
    await screen.page.getByText(/^\d+ of \d+$/).waitFor()
    await screen.page.getByRole('checkbox', { name: /Select the comment/ }).check()
    await screen.page.getByRole('button', { name: 'Send to the agent (1)' }).click()
    await expect.poll(() => screen.composer.inputValue()).toContain('Say why here, and how.')
    expect(screen.errors.concat(other.errors)).toEqual([])
    await other.page.close()
    await screen.page.close()
  })

  test('is exported, and forked, from its review', async () => {
    const screen = await device.open(`/s/${tour}/review`, phone)
    await screen.page.getByRole('button', { name: 'Export…' }).click()
    await screen.page.getByRole('button', { name: 'Preview' }).click()
    await screen.page
      .getByText(/: \d+ found/)
      .first()
      .waitFor()
    await shot(screen, 'export-phone')
    const folder = await device.browser.downloads()
    await screen.page.getByLabel('From event', { exact: true }).fill('2')
    await screen.page.getByRole('button', { name: 'Export', exact: true }).click()
    const page = await until('the download', () => whole(join(folder, 'tour.html')))
    expect(page).toContain('"seq":2,')
    expect(page).not.toContain('"seq":1,')
    await screen.page.getByRole('radio', { name: 'In another folder' }).check()
    await screen.page.getByRole('combobox', { name: 'Folder' }).fill(hub.workspace)
    await screen.page.getByRole('combobox', { name: 'Agent' }).selectOption('paced')
    await shot(screen, 'fork-phone')
    await expectOpenToAll(screen)
    await screen.page.getByRole('button', { name: /^Fork from event/ }).click()
    await expect.poll(() => screen.page.url()).not.toContain(tour)
    const fork = new URL(screen.page.url()).pathname.split('/').at(-1)!
    expect(await hub.session(fork)).toMatchObject({ agent: 'paced', forked_from: { session_id: tour } })
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('is forked into a git worktree, by keyboard', async () => {
    const folder = join(hub.workspace, 'repository')
    mkdirSync(folder)
    writeFileSync(join(folder, 'a.md'), '# A\n')
    const git = repository(folder)
    git('add', '.')
    git('commit', '--quiet', '-m', 'one')
    const { session_id } = await hub.api<{ session_id: string }>('POST', '/api/sessions', {
      agent: 'demo',
      workspace: folder,
    })
    writeFileSync(join(folder, 'before.md'), 'before the turn')
    await hub.turn(session_id, '/markdown')
    writeFileSync(join(folder, 'after.md'), 'after the turn')
    const screen = await device.open(`/s/${session_id}/review`, wide)
    await at(screen, hub.lastSeq(session_id))
    const { keyboard } = screen.page
    await screen.page.getByRole('button', { name: 'Export…' }).press('Enter')
    const choice = screen.page.getByRole('radio', { name: 'In a new git worktree' })
    await choice.press('Space')
    const to = join(hub.workspace, 'forked')
    await screen.page.getByRole('combobox', { name: 'New folder' }).press('Control+a')
    await keyboard.type(to)
    const files = screen.page.getByRole('combobox', { name: 'Its files' })
    await files.focus()
    await keyboard.press('ArrowDown')
    await expect.poll(() => files.inputValue()).toBe('before')
    await expectOpenToAll(screen)
    await shot(screen, 'fork-files-wide')
    await screen.page.getByRole('button', { name: /^Fork from event/ }).press('Enter')
    await expect.poll(() => screen.page.url()).not.toContain(session_id)
    const fork = new URL(screen.page.url()).pathname.split('/').at(-1)!
    expect(await hub.session(fork)).toMatchObject({ workspace: to, forked_from: { session_id } })
    expect(readFileSync(join(to, 'before.md'), 'utf8')).toBe('before the turn')
    expect(existsSync(join(to, 'after.md'))).toBe(false)
    expect(readFileSync(join(to, 'a.md'), 'utf8')).toBe('# A\n')
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })
})
