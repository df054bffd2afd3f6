// The palette, the folder picker, copying of prompts and the completion after an @, by touch on a
// phone and by keys on a desktop.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone, type Size } from './rig/browser.ts'
import type { Locator } from 'playwright-core'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { folderOf, writeFolder } from './rig/newsession.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'
import { tap } from './rig/touch.ts'

const wide: Size = { width: 1440, height: 900 }
let hub: Hub
let device: Device
beforeAll(async () => {
  hub = await Hub.start()
  mkdirSync(join(hub.workspace, 'garden', 'pots'), { recursive: true })
  writeFileSync(join(hub.workspace, 'garden', 'tulip.md'), 'red')
  device = await Device.pair(hub)
})
afterAll(async () => {
  await device.stop()
  expect(await hub.stop()).toBe(0)
})

describe.each([
  { name: 'by touch', size: phone },
  { name: 'by keys', size: wide },
])('$name', ({ name, size }) => {
  const touch = size === phone

  test('the palette has the commands of the session menu, and the agent’s options', async () => {
    const id = await hub.newSession('By name')
    await hub.turn(id, '/plan')
    const screen = await device.watch(id, size)
    const { page } = screen
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const more = page.getByRole('button', { name: 'More', exact: true })
    // Hidden means that it is still closing: the key that opens it again must come later.
    const palette = page.getByRole('dialog', { name: 'Commands and sessions', includeHidden: true })
    const open = async () => {
      if (!touch) await page.keyboard.press('Control+k')
      else {
        await tap(more)
        await tap(page.getByRole('menuitem', { name: 'All commands…' }))
      }
      await palette.getByRole('option').first().waitFor()
    }
    const choose = async (name: string) => {
      await open()
      await palette.getByRole('combobox').fill(name)
      const found = palette.getByRole('option', { name: new RegExp(`^${name}`) }).first()
      await found.waitFor()
      await (touch ? tap(found) : page.keyboard.press('Enter'))
      await palette.waitFor({ state: 'detached' })
    }

    await more.click()
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    const entries = await page.locator('[role=menu] button').allInnerTexts()
    expect(entries).toContain('Pin')
    expect(entries.length).toBeLessThanOrEqual(12)
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await open()
    const names = await palette.getByRole('option').locator('span').allInnerTexts()
    const known = (entry: string) =>
      [entry, `${entry}…`, `Mode: ${entry}`].some((name) => names.includes(name)) || entry === 'All commands…'
    expect(entries.filter((entry) => !known(entry))).toEqual([])
    await shot(screen, `palette-${size.width}`)
    await page.keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })

    await choose('Pin')
    await until('the pin', async () => (await hub.session(id)).pinned === true)
    const before = hub.lastSeq(id)
    await choose('Mode: Auto')
    expect((await hub.event(id, 'mode', before)).data.mode_id).toBe('auto')
    await choose('Model: Hasty')
    const model = await hub.event(id, 'config', before)
    expect(JSON.stringify(model.data.options)).toContain('"currentValue":"hasty"')
    await choose('Verbose: on')
    await hub.event(id, 'config', model.seq)
    await choose('Copy link')
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toBe(`${new URL(page.url()).origin}/s/${id}`)
    await choose('Rules')
    await page.getByRole('dialog', { name: 'Rules' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Rules' }).waitFor({ state: 'detached' })
    if (touch) {
      await choose('Details')
      await page.getByRole('dialog', { name: 'Details' }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog', { name: 'Details' }).waitFor({ state: 'detached' })
    }
    await choose('Rename')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Named anew')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Named anew' }).waitFor()
    await choose('End session')
    await hub.event(id, 'session_end')
    await choose('Archive')
    await until('the archive', async () => (await hub.session(id)).archived === true)
    // The page goes to the list when it gets the answer, a moment after the hub archived the session.
    await until('the list', () => new URL(page.url()).pathname === '/')
    await screen.go(`/s/${id}`)
    await screen.reaches(id, hub.lastSeq(id))
    await choose('Delete')
    const asked = page.getByRole('menuitem', { name: 'Delete', exact: true })
    await asked.waitFor()
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel')
    await (touch ? tap(asked) : asked.press('Enter'))
    await until(
      'it is deleted',
      async () =>
        await hub.session(id).then(
          () => false,
          () => true,
        ),
    )
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('the palette stops a turn', async () => {
    const id = await hub.newSession('Halted by name', 'paced')
    const screen = await device.watch(id, size)
    const { page } = screen
    await hub.prompt(id, '/slow 3600')
    await hub.event(id, 'turn_start')
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    const stop = page.getByRole('option', { name: /^Stop/ })
    if (touch) {
      await tap(page.getByRole('button', { name: 'More', exact: true }))
      await tap(page.getByRole('menuitem', { name: 'All commands…' }))
      await tap(stop)
    } else {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command or session' }).fill('Stop')
      await stop.waitFor()
      await page.keyboard.press('Enter')
    }
    expect((await hub.event(id, 'turn_end')).data.stop_reason).toBe('cancelled')
    await page.close()
    await hub.deleteSession(id)
  })

  test('a person browses to a folder, makes another in it, and the session runs there', async () => {
    const screen = await device.open('/', size)
    const { page } = screen
    const press = async (label: string) => {
      const button = page.getByRole('button', { name: label, exact: true }).filter({ visible: true }).first()
      if (touch) return tap(button)
      await button.focus()
      await page.keyboard.press('Enter')
    }
    await (touch ? press('Start your first session') : page.keyboard.press('c'))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('First prompt').fill('/plan')
    const chip = dialog.locator('[data-folder]')
    await (touch ? chip.click() : chip.press('Enter'))
    const browser = dialog.getByRole('group', { name: 'Folders' })
    await browser.getByRole('button', { name: 'garden' }).waitFor()
    await press('garden')
    await browser.getByRole('button', { name: 'pots' }).waitFor()
    await dialog.getByLabel('Name of a new folder').fill(`bed-${size.width}`)
    await dialog.getByLabel('Name of a new folder').press('Enter')
    const made = join(hub.workspace, 'garden', `bed-${size.width}`)
    await browser.getByText(made).first().waitFor()
    await shot(screen, `new-session-${size.width}`)
    const chooser = page.getByRole('dialog', { name: 'Choose a folder' })
    await expect
      .poll(() => chooser.locator('.button.main').allInnerTexts(), { message: 'one way to confirm' })
      .toEqual(['Use this folder'])
    expect(await chooser.getByRole('button', { name: 'Done' }).count()).toBe(0)
    await press('Use this folder')
    await expect.poll(() => folderOf(page)).toBe(made)
    await press('Start')
    await page.waitForURL('**/s/*')
    const id = new URL(page.url()).pathname.slice('/s/'.length)
    expect((await hub.api<{ workspace: string }>('GET', `/api/sessions/${id}`)).workspace).toBe(made)
    await hub.event(id, 'turn_end')
    await hub.deleteSession(id)
    await page.close()
  })

  test('a prompt is copied, and edited and sent again', async () => {
    const id = await hub.newSession('Once more')
    await hub.turn(id, '/plan')
    const screen = await device.watch(id, size)
    const { page } = screen
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const row = page.locator('article.item', { hasText: '/plan' }).first()
    const press = async (name: string) => {
      const presses = async (button: Locator) => {
        if (touch) return tap(button)
        await button.focus()
        await page.keyboard.press('Enter')
      }
      await presses(row.getByRole('button', { name: 'Prompt actions' }))
      await presses(page.getByRole('menuitem', { name, exact: true }))
    }
    await press('Copy')
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('/plan')
    await press('Edit and send again')
    await expect.poll(() => screen.composer.inputValue()).toBe('/plan')
    await expect.poll(() => screen.composer.evaluate((area) => area === document.activeElement)).toBe(true)
    const before = hub.lastSeq(id)
    await screen.composer.fill('/slow 1')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    expect((await hub.event(id, 'user_prompt', before)).data.text).toBe('/slow 1')
    await hub.event(id, 'turn_end', before)
    await shot(screen, `again-${size.width}`)
    expect(screen.errors).toEqual([])
    await page.close()
    await hub.deleteSession(id)
  })

  test('a command steps upwards through the prompts of a session', async () => {
    const id = await hub.newSession(`Prompts ${name}`)
    for (let i = 0; i < 5; i++) await hub.turn(id, '/plan')
    const screen = await device.watch(id, size)
    const { page } = screen
    const prompts = hub.events(id).flatMap((e) => (e.type === 'user_prompt' ? [e.seq] : []))
    const earlier = page.getByRole('button', { name: 'Previous prompt' })
    /** The seqs of the prompts in view. */
    const inView = () =>
      screen.feed.evaluate((feed) => {
        const { top, bottom } = feed.getBoundingClientRect()
        return [...feed.querySelectorAll<HTMLElement>('article[data-seq]')].flatMap((row) => {
          const box = row.getBoundingClientRect()
          return box.top >= top && box.bottom <= bottom ? [Number(row.dataset['seq'])] : []
        })
      })
    await screen.feed.hover()
    await page.mouse.wheel(0, -200)
    let at = hub.lastSeq(id)
    for (let i = 0; i < 2; i++) {
      await earlier.focus()
      await (touch ? tap(earlier) : page.keyboard.press('Enter'))
      await until('an earlier prompt at the top', async () => {
        const seq = (await inView()).find((shown) => prompts.includes(shown)) ?? at
        if (seq >= at) return false
        at = seq
        return true
      })
    }
    await shot(screen, `prompts-${size.width}`)
    expect(screen.errors).toEqual([])
    await page.close()
    await hub.deleteSession(id)
  })

  test('an @ completes another session, and ~ a folder of the home', async () => {
    const other = await hub.newSession('Water the tulips')
    await hub.turn(other, '/plan')
    const session = await hub.newSession(`Mentions ${name}`)
    await hub.turn(session, '/plan')
    const screen = await device.watch(session, size)
    const { page } = screen
    await screen.composer.focus()
    await page.keyboard.type('as in @Water')
    const found = page.getByRole('option', { name: 'Water the tulips' })
    await found.waitFor()
    await (touch ? tap(found) : page.keyboard.press('Tab'))
    await expect.poll(() => screen.composer.inputValue()).toBe(`as in @session:${other} `)
    await screen.composer.fill('')
    await screen.go('/')
    await (touch ? tap(page.getByRole('button', { name: 'New session' })) : page.keyboard.press('c'))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('First prompt').fill('/plan')
    await page.locator('[data-folder]').press('Enter')
    const chooser = page.getByRole('dialog', { name: 'Choose a folder' })
    await chooser.getByLabel('Path').fill('~/nowhere-at-all')
    await chooser.getByText('nowhere-at-all does not exist: make it first').waitFor()
    await page.keyboard.press('Escape')
    await chooser.waitFor({ state: 'detached' })
    await writeFolder(page, '~/work/garden')
    await dialog.getByRole('button', { name: 'Start', exact: true }).click()
    await page.waitForURL('**/s/*')
    const started = new URL(page.url()).pathname.slice('/s/'.length)
    const garden = join(hub.workspace, 'garden')
    expect((await hub.session(started)).workspace).toBe(garden)
    if (touch) await tap(page.getByRole('button', { name: 'Details', exact: true }))
    await page.getByText(garden, { exact: true }).filter({ visible: true }).waitFor()
    await hub.event(started, 'turn_end')
    await page.close()
    for (const id of [other, session, started]) await hub.deleteSession(id)
  })

  test('an @ completes a file, and a long paste becomes a file', async () => {
    const session = await hub.newSession(`At hand ${name}`)
    await hub.turn(session, '/plan')
    const screen = await device.watch(session, size)
    await screen.composer.focus()
    await screen.page.keyboard.type('look at @tul')
    const found = screen.page.getByRole('option', { name: 'tulip.md' })
    await found.waitFor()
    await shot(screen, `mention-${size.width}`)
    await (touch ? tap(found) : screen.page.keyboard.press('Tab'))
    await expect.poll(() => screen.composer.inputValue()).toBe('look at @garden/tulip.md ')
    await screen.page.keyboard.type('now')
    await until('the end of the text', async () =>
      (await screen.composer.inputValue()).endsWith('tulip.md now'),
    )
    await screen.composer.evaluate((area) => {
      const data = new DataTransfer()
      data.setData('text/plain', 'long '.repeat(1000))
      area.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
      )
    })
    await screen.page.getByText('pasted.txt').first().waitFor()
    await expect.poll(() => screen.composer.inputValue()).toBe('look at @garden/tulip.md now')
    await screen.page.close()
    await hub.deleteSession(session)
  })
})
