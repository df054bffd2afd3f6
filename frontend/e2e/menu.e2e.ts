// The actions of a session's menu: each can be undone or asks first.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { FaultProxy } from './rig/proxy.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { stored } from './rig/stored.ts'
import { until } from './rig/until.ts'

/** Clicks entries of the session's menu, one after the other. */
async function choose({ page }: Screen, ...names: string[]): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click()
  for (const name of names) await page.getByRole('menuitem', { name, exact: true }).click()
}

/** The names of the sessions in the list. */
const lines = ({ page }: Screen) => page.locator('[data-entry] .name').allInnerTexts()
const lists = (screen: Screen, ...names: string[]) =>
  until(`the list of ${names}`, async () => JSON.stringify(await lines(screen)) === JSON.stringify(names))
const button = ({ page }: Screen, name: string) => page.getByRole('button', { name, exact: true })
const archivedLine = ({ page }: Screen) => page.getByRole('region', { name: 'Archived' })

describe.each([
  { on: 'a phone', size: phone },
  { on: 'a desktop', size: desktop },
])('the menu of a session on $on', ({ size }) => {
  let hub: Hub
  let proxy: FaultProxy
  let device: Device

  beforeAll(async () => {
    proxy = await FaultProxy.start()
    hub = await Hub.start({ publicNames: [proxy.addr] })
    await proxy.to(hub.addr)
    device = await Device.pair(hub, { origin: proxy.origin, size })
  })
  /** Heals the network. The reset ends the connections that hang, which the browser would otherwise reuse. */
  const heal = async () => {
    for (const mend of ['heal', 'rst']) await proxy.tell(mend)
  }

  afterEach(async () => {
    await heal()
    const { sessions } = await hub.api<{ sessions: SessionInfo[] }>('GET', '/api/sessions?status=all')
    for (const { session_id } of sessions) await hub.deleteSession(session_id)
  })
  afterAll(async () => {
    await device.stop()
    await proxy.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('archives it, which can be undone, and its files and the link to it are there after a reload', async () => {
    const only = await hub.newSession('Put away')
    const screen = await device.watch(only, size)
    const file = { name: 'kept.txt', mimeType: 'text/plain', buffer: Buffer.from('kept') }
    await screen.page.locator('[data-picker]').setInputFiles([file])
    await until('the file on the device', async () => (await stored(screen.page, 'files')).length === 1)

    // Archiving goes to the list, and one click undoes it.
    await choose(screen, 'Archive')
    await screen.page.getByText('Archived “Put away”.').waitFor()
    await screen.page.waitForURL((url) => url.pathname === '/')
    expect((await hub.session(only)).archived).toBe(true)
    await button(screen, 'Undo').click()
    await until('it back', async () => !(await hub.session(only)).archived)
    await screen.go(`/s/${only}`)
    await screen.reaches(only, 1)
    await choose(screen, 'Archive')
    await screen.page.getByText('Archived “Put away”.').waitFor()
    expect(await barriers(screen.page)).toEqual([])
    await screen.go(`/s/${only}`)
    await archivedLine(screen).waitFor()
    await button(screen, 'Unarchive').click()
    await archivedLine(screen).waitFor({ state: 'detached' })
    await choose(screen, 'Archive')
    // The page goes to the list when it gets the answer, a moment after the hub archived the session.
    await screen.page.waitForURL((url) => url.pathname === '/')
    expect((await hub.session(only)).archived).toBe(true)

    await screen.go(`/s/${only}`)
    await screen.page.reload()
    await screen.reaches(only, 1)
    await archivedLine(screen).waitFor()
    await screen.page.locator('[data-file]', { hasText: 'kept.txt' }).waitFor()

    const list = await device.open('/', size)
    await button(list, 'Archive (1)').waitFor()
    await list.page.getByText('All sessions are archived.').waitFor()
    expect(await barriers(list.page)).toEqual([])
    await button(list, 'Archive (1)').click()
    await lists(list, 'Put away')
    expect(await barriers(list.page)).toEqual([])

    await choose(screen, 'Unarchive')
    await archivedLine(screen).waitFor({ state: 'detached' })
    await button(list, 'Back to all sessions').waitFor({ state: 'detached' })
    await lists(list, 'Put away')
    await expect.poll(() => list.page.getByRole('button', { name: /^Archive/ }).count()).toBe(0)
    await expect.poll(() => stored(screen.page, 'files')).toHaveLength(1)
    expect([...screen.errors, ...list.errors]).toEqual([])
    await screen.page.close()
    await list.page.close()
  })

  test('pins and renames it', async () => {
    const low = await hub.newSession('Low')
    await hub.newSession('High')
    const list = await device.open('/', size)
    await lists(list, 'High', 'Low')
    const screen = await device.watch(low, size)
    await choose(screen, 'Pin')
    await lists(list, 'Low', 'High')
    await choose(screen, 'Unpin')
    await lists(list, 'High', 'Low')
    await choose(screen, 'Rename')
    await screen.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Lower')
    await button(screen, 'Rename').click()
    await lists(list, 'High', 'Lower')
    await screen.page.getByRole('heading', { name: 'Lower' }).waitFor()
    expect([...screen.errors, ...list.errors]).toEqual([])
    await screen.page.close()
    await list.page.close()
  })

  test('exports it', async () => {
    const session = await hub.newSession('To take along')
    const screen = await device.watch(session, size)
    if (size === phone) await choose(screen, 'Export…')
    else {
      await screen.page.keyboard.press('Control+k')
      await screen.page.getByRole('combobox', { name: 'Command or session' }).fill('export')
      await screen.page.keyboard.press('Enter')
    }
    const dialog = screen.page.getByRole('dialog', { name: 'Export', exact: true })
    await dialog.getByRole('radio', { name: 'Raw events (JSONL)' }).check()
    expect(await barriers(screen.page)).toEqual([])
    await shot(screen, `export-${size.width}`)
    const folder = await device.browser.downloads()
    await button(screen, 'Export').click()
    await until('the download', () => existsSync(join(folder, 'to-take-along.jsonl')))
    await screen.page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(new URL(screen.page.url()).pathname).toBe(`/s/${session}`)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('deletes it after a second click confirms it, and shows the list', async () => {
    const session = await hub.newSession('To delete')
    const screen = await device.watch(session, size)
    await choose(screen, 'Delete…', 'Cancel')
    await screen.page.getByRole('menuitem', { name: 'Delete…' }).click()
    await screen.page.getByRole('menuitem', { name: 'Delete', exact: true }).click()
    await until('the list', () => new URL(screen.page.url()).pathname === '/')
    await expect(hub.session(session)).rejects.toThrow('404')
    await lists(screen)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  // Giving up on a dead connection takes long and does not depend on the size: tested once, with three screens.
  if (size === phone) {
    test('over a dead connection shows why nothing was renamed or deleted, and keeps the typed name', async () => {
      const [named, stayed, left, other] = await Promise.all(
        ['As it was', 'Out of reach', 'Left behind', 'Elsewhere'].map((name) => hub.newSession(name)),
      )
      const renames = await device.watch(named!, size)
      const stays = await device.watch(stayed!, size)
      const leaves = await device.watch(left!, size)
      await choose(renames, 'Rename')
      const field = renames.page.getByRole('textbox', { name: 'Name', exact: true })
      await field.fill('As it will be')
      await choose(stays, 'Delete…')
      await choose(leaves, 'Delete…')
      for (const fault of ['blackhole', 'rst']) await proxy.tell(fault)

      const forGood = ({ page }: Screen) => page.getByRole('menuitem', { name: 'Delete', exact: true })
      await button(renames, 'Rename').click()
      await forGood(stays).click()
      await stays.page.getByRole('menuitem', { name: 'Deleting…' }).waitFor()
      await forGood(leaves).click()
      await leaves.go(`/s/${other}`)
      await Promise.all([
        renames.page.getByRole('group').getByText('It was not renamed: The hub cannot be reached.').waitFor(),
        stays.page.getByRole('menu').getByText('It was not deleted: The hub cannot be reached.').waitFor(),
        leaves.page.getByText('“Left behind” was not deleted: The hub cannot be reached.').waitFor(),
      ])
      expect(await field.inputValue()).toBe('As it will be')
      expect(new URL(stays.page.url()).pathname).toBe(`/s/${stayed}`)
      expect(new URL(leaves.page.url()).pathname).toBe(`/s/${other}`)

      await heal()
      await renames.reaches(named!, 1)
      await button(renames, 'Rename').click()
      await renames.page.getByRole('heading', { name: 'As it will be' }).waitFor()
      await until('the menu closed', async () => (await field.count()) === 0)
      await stays.reaches(stayed!, 1)
      await forGood(stays).click()
      await until('the list', () => new URL(stays.page.url()).pathname === '/')
      await expect(hub.session(stayed!)).rejects.toThrow('404')
      await leaves.reaches(other!, 1)
      for (const screen of [renames, stays, leaves]) {
        expect(screen.errors).toEqual([])
        await screen.page.close()
      }
    })
  }
})
