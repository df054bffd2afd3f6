// A new session is made once, however often the request is sent, and the typed text is kept until then.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { repository } from './rig/git.ts'
import { folderOf, writeFolder } from './rig/newsession.ts'
import { shot } from './rig/shot.ts'
import { alone } from './rig/until.ts'

describe('a new session', () => {
  let hub: Hub
  let laptop: Device

  beforeAll(async () => {
    hub = await Hub.start({ folder: 'a-folder-with-a-long-name-and-a-telling-end' })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })
  beforeEach(async () => {
    for (const { session_id } of await sessions()) await hub.deleteSession(session_id)
  })

  const sessions = async () =>
    (await hub.api<{ sessions: SessionInfo[] }>('GET', '/api/sessions?status=all')).sessions

  /** Makes a folder in the workspace. */
  function inside(name: string): string {
    mkdirSync(join(hub.workspace, name), { recursive: true })
    return join(hub.workspace, name)
  }

  const field = (page: Page, label: string) => page.getByRole('dialog').getByLabel(label)
  const words = (page: Page) => field(page, 'First prompt').inputValue()

  /** Waits until the form can be sent. */
  const formed = (page: Page) => page.locator('dialog select:enabled').first().waitFor()

  /** Opens the form. The button for the first session has another name. */
  const open = (page: Page) =>
    page
      .getByRole('button', { name: /^(New session|Start your first session)$/ })
      .filter({ visible: true })
      .first()
      .click()

  async function form(page: Page): Promise<void> {
    await open(page)
    await formed(page)
  }

  /** Reloads the page, which opens the form again. */
  async function reload(page: Page): Promise<void> {
    await page.reload()
    await formed(page)
  }

  const start = (page: Page) => page.getByRole('button', { name: 'Start', exact: true }).click()

  test('works in its own copy of a repository, which is remembered for the folder', async () => {
    const folder = inside('app')
    writeFileSync(join(folder, 'a.md'), '# A\n')
    const git = repository(folder)
    git('add', '.')
    git('commit', '--quiet', '-m', 'one')
    const screen = await laptop.open('/', phone)
    const { page, errors } = screen
    await form(page)
    expect(await page.getByLabel('Where').count()).toBe(0)
    await writeFolder(page, folder)
    await page.getByLabel('Where').selectOption({ label: 'In its own copy, on a new branch' })
    await field(page, 'First prompt').fill('/plan the way home')
    await shot(screen, 'new-session-own-copy')
    await start(page)
    await expect.poll(async () => (await sessions()).length).toBe(1)
    const [made] = await sessions()
    expect(made!.worktree).toMatchObject({ branch: 'abide/plan-the-way-home', of: folder })
    expect(readFileSync(join(made!.workspace, 'a.md'), 'utf8')).toBe('# A\n')
    writeFileSync(join(made!.workspace, 'b.md'), '# B\n')
    const files = await laptop.open(`/s/${made!.session_id}/files`, phone)
    await files.page.getByText('Level with garden.').waitFor()
    await shot(files, 'files-own-copy')
    await files.page.close()
    const settings = await laptop.open('/settings', phone)
    const copies = settings.page.getByRole('heading', { name: 'Working copies' }).locator('..')
    await copies.getByRole('button', { name: 'Remove…' }).click()
    await copies.getByText('Files that are not committed and are lost: 1.').waitFor()
    await copies.getByRole('button', { name: 'Remove for good' }).scrollIntoViewIfNeeded()
    await shot(settings, 'settings-copies')
    await copies.getByRole('button', { name: 'Remove for good' }).click()
    await copies.waitFor({ state: 'detached' })
    expect(existsSync(made!.workspace)).toBe(false)
    expect(settings.errors).toEqual([])
    await settings.page.close()
    const again = await laptop.open('/', phone)
    await shot(again, 'list-own-copy')
    await form(again.page)
    await writeFolder(again.page, folder)
    await expect.poll(() => again.page.getByLabel('Where').inputValue()).toBe('copy')
    expect([...errors, ...again.errors]).toEqual([])
    await page.close()
    await again.page.close()
  })

  test('whose answer was lost is not made again at the next Start, and its prompt runs once', async () => {
    const { page } = await laptop.open('/')
    const keys: (string | undefined)[] = []
    await page.route('**/api/sessions', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      keys.push(route.request().headers()['idempotency-key'])
      if (keys.length > 2) return route.continue()
      await route.fetch() // the hub gets the request
      await route.abort() // its answer is lost
    })
    await form(page)
    await field(page, 'Name optional').fill('Mine')
    await field(page, 'First prompt').fill('/slow 3')
    for (const lost of [1, 2]) {
      await start(page)
      await page.getByRole('alert').getByText('The hub cannot be reached.').waitFor()
      expect(keys.length).toBe(lost)
      expect(await words(page)).toBe('/slow 3')
    }
    await reload(page)
    expect([await words(page), await field(page, 'Name optional').inputValue()]).toEqual(['/slow 3', 'Mine'])
    await start(page)
    await page.waitForURL('**/s/*')
    expect(keys[0]).toBeTruthy()
    expect(keys).toEqual([keys[0], keys[0], keys[0]])

    const made = await sessions()
    expect(made.map(({ name }) => name)).toEqual(['Mine'])
    const id = made[0]!.session_id
    expect(new URL(page.url()).pathname).toBe(`/s/${id}`)
    await hub.event(id, 'turn_end')
    await hub.idle(id)
    const asked = hub.events(id).filter((e) => e.type === 'user_prompt' || e.type === 'turn_start')
    expect(asked.map((e) => e.type)).toEqual(['user_prompt', 'turn_start'])
    await page.getByRole('feed').getByText('/slow 3').first().waitFor()

    // The session is made, so the next request makes another.
    await form(page)
    expect([await words(page), await field(page, 'Name optional').inputValue()]).toEqual(['', ''])
    await field(page, 'First prompt').fill('/slow 3')
    await start(page)
    await page.waitForURL((url) => url.pathname.startsWith('/s/') && !url.pathname.endsWith(id))
    expect((await sessions()).length).toBe(2)
    await page.close()
  })

  test('keeps its typed text through Esc, a reload and the end of its tab', async () => {
    const { page } = await laptop.open('/')
    await form(page)
    const away = inside('away')
    await writeFolder(page, away)
    await field(page, 'First prompt').fill('/slow')
    await field(page, 'First prompt').press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await form(page)
    await expect.poll(() => words(page)).toBe('/slow')
    await field(page, 'First prompt').pressSequentially(' 3')
    await reload(page)
    await expect.poll(() => words(page)).toBe('/slow 3')
    await page.close()

    const after = (await laptop.open('/')).page
    await form(after)
    expect([await words(after), await folderOf(after)]).toEqual(['/slow 3', away])
    rmdirSync(away) // it was there when it was chosen
    await start(after)
    await after.getByRole('alert').getByText(away).waitFor()
    expect(await words(after), 'after a refusal').toBe('/slow 3')
    await writeFolder(after, hub.workspace)
    await start(after)
    await after.waitForURL('**/s/*')
    const made = await sessions()
    expect(made.length).toBe(1)
    await hub.event(made[0]!.session_id, 'turn_end')
    await after.close()
  })

  test('has the folder that was typed before the hub sent its folders', async () => {
    const { page } = await laptop.open('/')
    let tell = () => {}
    const told = new Promise<void>((resolve) => (tell = resolve))
    await page.route('**/api/agents', async (route) => {
      await told
      await route.continue()
    })
    await open(page)
    const meanwhile = inside('meanwhile')
    await writeFolder(page, meanwhile)
    tell()
    await formed(page)
    await expect.poll(() => folderOf(page)).toBe(meanwhile)
    await writeFolder(page, '') // an emptied field stays empty, too
    await expect.poll(() => folderOf(page)).toBe('')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.close()
  })

  test.each([phone, desktop])('begins with the prompt, and has chips below it, at $width', async (size) => {
    const earlier = await hub.newSession('Earlier')
    const { page } = await laptop.open('/', size)
    await page.evaluate(() => localStorage.removeItem('abide.draft.new'))
    await form(page)
    const inForm = page.locator('dialog form :is(textarea, select, input, button)')
    await expect
      .poll(() => inForm.evaluateAll((all) => all.map((e) => e.textContent!.trim() || e.tagName)))
      .toEqual([
        'TEXTAREA',
        expect.stringContaining('demo'),
        expect.stringMatching(/^Folder: /),
        'INPUT',
        'Continue a session of this agent…',
        'Import a session…',
        'Cancel',
        'Start',
      ])
    const box = (selector: string) => page.locator(`dialog form ${selector}`).first().boundingBox()
    const [prompt, agent, folder] = [
      await box('textarea'),
      await box('label.chip'),
      await box('[data-folder]'),
    ]
    expect(prompt!.height).toBeGreaterThanOrEqual(140)
    expect(agent!.y).toBeGreaterThan(prompt!.y + prompt!.height)
    expect(agent!.height).toBeGreaterThanOrEqual(size === phone ? 44 : 32)
    expect(folder!.height).toBeGreaterThanOrEqual(size === phone ? 44 : 32)
    // By keys: the chip opens the folder dialog, and gets the focus back.
    const other = inside('other')
    await writeFolder(page, other)
    await page.locator('[data-folder]:focus').waitFor()
    await expect.poll(() => folderOf(page)).toBe(other)
    await page.keyboard.press('Enter')
    const chooser = page.getByRole('dialog', { name: 'Choose a folder' })
    await chooser.getByRole('list', { name: 'Recent' }).getByRole('button').click()
    await chooser.waitFor({ state: 'detached' })
    expect(await folderOf(page)).toBe((await hub.session(earlier)).workspace)
    await writeFolder(page, '')
    await start(page)
    await chooser.getByLabel('Path').waitFor()
    await page.close()
  })

  test('shows the end of a long folder on a phone', async () => {
    const screen = await laptop.open('/', phone)
    const { page } = screen
    await page.evaluate(() => localStorage.removeItem('abide.draft.new'))
    await form(page)
    expect(hub.workspace.length).toBeGreaterThan(45)
    /** Whether the whole text is within its dialog. */
    const whole = (text: Locator) =>
      text.evaluate((element) => {
        const range = document.createRange()
        range.selectNodeContents(element)
        const { left, right } = element.closest('dialog')!.getBoundingClientRect()
        const lines = [...range.getClientRects()]
        return lines.length > 0 && lines.every((line) => line.left >= left && line.right <= right)
      })
    const chip = page.locator('[data-folder]')
    await expect.poll(() => chip.textContent()).toContain('a-folder-with-a-long-name-and-a-telling-end')
    await expect.poll(() => whole(chip)).toBe(true)
    await shot(screen, 'new-session-phone')
    await chip.click()
    const chooser = page.getByRole('dialog', { name: 'Choose a folder' })
    const path = chooser.locator('small.whole')
    await expect.poll(() => path.textContent()).toBe(hub.workspace)
    await expect.poll(() => whole(path)).toBe(true)
    await shot(screen, 'new-session-folder-phone')
    await chooser.getByLabel('Path').fill('/src')
    await path.waitFor({ state: 'detached' })
    await page.close()
  })

  test.each([phone, desktop])('begins with the chosen mode and model, at $width', async (size) => {
    // What an agent offers is known from its sessions, also after a restart of the hub.
    const earlier = await hub.newSession('Earlier')
    await hub.turn(earlier, '/slow 1')
    await hub.kill()
    await hub.start()
    const screen = await laptop.open('/', size)
    const { page } = screen
    await page.evaluate(() => localStorage.removeItem('abide.draft.new'))
    await form(page)
    const select = (name: string) => page.getByRole('combobox', { name, exact: true })
    await select('Mode').selectOption({ label: 'Auto' })
    await select('Model').selectOption({ label: 'Hasty' })
    await shot(screen, `new-session-mode-${size.width}`)
    await field(page, 'First prompt').fill('/slow 1')
    await start(page)
    await page.waitForURL('**/s/*')
    const id = new URL(page.url()).pathname.split('/').pop()!
    await hub.event(id, 'turn_end')
    const given = hub.events(id).findIndex((e) => e.type === 'turn_start')
    // The agent has them before it is given the prompt.
    const before = JSON.stringify(hub.events(id).slice(0, given))
    expect(before).toContain('{"mode_id":"auto"')
    expect(before).toContain('"currentValue":"hasty"')
    await page.close()
  })

  test('requested without the hub waits on the device, and is made once when the hub is back', async () => {
    const screen = await laptop.open('/', phone)
    const { page } = screen
    await alone(page)
    await form(page)
    await page.keyboard.press('Escape')
    await hub.kill()
    await page.locator('html:not([data-link=open]):not([data-link=checking])').waitFor()
    await form(page)
    await field(page, 'First prompt').fill('/slow 1')
    await writeFolder(page, hub.workspace)
    await shot(screen, 'start-offline-390')
    await page.getByRole('button', { name: 'Start when connected' }).click()
    const waiting = page.getByRole('region', { name: 'Not started yet' })
    await waiting.getByText('Will start when you reconnect.').waitFor()
    await shot(screen, 'waiting-390')
    await page.reload()
    await waiting.getByText('/slow 1').waitFor()
    await hub.start()
    await page.locator('[data-session]').first().waitFor()
    await waiting.waitFor({ state: 'detached' })
    const made = await sessions()
    expect(made).toHaveLength(1)
    const id = made[0]!.session_id
    await hub.event(id, 'turn_end')
    expect(hub.events(id).filter((e) => e.type === 'user_prompt')).toHaveLength(1)
    await page.close()
  })

  test('requested in the second after the network went waits on the device, with the choices kept there', async () => {
    const screen = await laptop.open('/', phone)
    const { page } = screen
    await alone(page)
    await form(page)
    await page.keyboard.press('Escape')
    await page.evaluate(() => localStorage.removeItem('abide.draft.new'))
    await laptop.browser.context.setOffline(true)
    // The socket is still thought to be there.
    await page.locator('html:is([data-link=open], [data-link=checking])').waitFor()
    await form(page)
    await field(page, 'First prompt').fill('/slow 1')
    await page.keyboard.press('Control+Enter')
    const waiting = page.getByRole('region', { name: 'Not started yet' })
    await waiting.getByText('/slow 1').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await laptop.browser.context.setOffline(false)
    await waiting.waitFor({ state: 'detached' })
    await expect.poll(async () => (await sessions()).length).toBe(1)
    const id = (await sessions())[0]!.session_id
    await hub.event(id, 'turn_end')
    expect(hub.events(id).filter((e) => e.type === 'user_prompt')).toHaveLength(1)
    await page.close()
  })

  test('that waited and is refused shows why, and can be edited in the form', async () => {
    const screen = await laptop.open('/')
    const { page } = screen
    await alone(page)
    await form(page)
    await page.keyboard.press('Escape')
    await hub.kill()
    await page.locator('html:not([data-link=open]):not([data-link=checking])').waitFor()
    await form(page)
    await field(page, 'First prompt').fill('look around')
    await writeFolder(page, '/nowhere/at/all')
    await page.getByRole('button', { name: 'Start when connected' }).click()
    const waiting = page.getByRole('region', { name: 'Not started yet' })
    await waiting.waitFor()
    await hub.start()
    await waiting.getByText('/nowhere/at/all').waitFor()
    await waiting.getByRole('button', { name: 'Edit' }).click()
    await formed(page)
    expect([await words(page), await folderOf(page)]).toEqual(['look around', '/nowhere/at/all'])
    await waiting.waitFor({ state: 'detached' })
    expect(await sessions()).toEqual([])
    await page.close()
  })
})
