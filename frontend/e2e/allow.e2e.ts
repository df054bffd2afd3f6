// A folder that no session may run in is refused in the chooser, and the owner allows it there.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { barriers } from './rig/axe.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { folderOf } from './rig/newsession.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

describe('a folder outside of the allowed ones', () => {
  let hub: Hub
  let device: Device

  beforeAll(async () => {
    hub = await Hub.start({ config: '# mine, and kept\n' })
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  const config = () => readFileSync(join(hub.home, 'config.yaml'), 'utf8')

  const clean = async (screen: Screen) => expect(await barriers(screen.page)).toEqual([])

  test.each([
    ['by touch', phone],
    ['at a desk', desktop],
  ])('is refused at once, and allowed there by its owner, %s', async (_, size) => {
    const site = join(hub.home, 'src', `site-${size.width}`)
    mkdirSync(site, { recursive: true })
    const before = config()
    const screen = await device.open('/', size)
    const { page } = screen
    const touch = size === phone
    const press = async (name: string | RegExp) => {
      const button = page.getByRole('button', { name, exact: true }).filter({ visible: true }).last()
      await (touch ? tap(button) : button.click())
    }
    await press(/^(New session|Start your first session)$/)
    await page.locator('dialog select:enabled').first().waitFor()
    await (touch ? tap(page.locator('[data-folder]')) : page.locator('[data-folder]').click())
    const chooser = page.getByRole('dialog', { name: 'Choose a folder' })
    const answers = chooser.locator('.end').getByRole('button')
    await chooser.getByLabel('Path').fill('~')
    await chooser.getByText('is your home directory, with your keys and settings').waitFor()
    expect(await answers.isEnabled()).toBe(false)
    await chooser.getByLabel('Path').fill(`~/src/site-${size.width}`)
    await chooser.getByText(`Sessions may not run in ~/src/site-${size.width} yet.`).waitFor()
    await expect
      .poll(() => answers.allInnerTexts(), { message: 'one answer' })
      .toEqual([`Allow ~/src/site-${size.width}`])
    await chooser.getByLabel('Path').press('Enter')
    expect(await chooser.count(), 'Enter allows nothing').toBe(1)
    await shot(screen, `allow-${size.width}`)
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(screen, `allow-dark-${size.width}`)
    await page.emulateMedia({ colorScheme: 'light' })
    await clean(screen)
    expect(config(), 'nothing is written before').toBe(before)
    await press(`Allow ~/src/site-${size.width}`)
    await chooser.waitFor({ state: 'detached' })
    await expect.poll(() => folderOf(page)).toBe(site)
    expect(config().replace(`, ~/src/site-${size.width}]`, ']'), 'every other byte is kept').toBe(before)

    // It counts at once: the list of allowed folders has it, and a session starts there.
    await (touch ? tap(page.locator('[data-folder]')) : page.locator('[data-folder]').click())
    await press('Allowed folders')
    const roots = chooser.getByRole('list', { name: 'Allowed folders' })
    await roots.getByRole('button', { name: hub.workspace }).waitFor()
    await shot(screen, `allowed-${size.width}`)
    await press(site)
    await press('Use this folder')
    await chooser.waitFor({ state: 'detached' })
    await page.getByLabel('First prompt').fill('/plan')
    await press('Start')
    await page.waitForURL('**/s/*')
    const id = new URL(page.url()).pathname.slice('/s/'.length)
    expect((await hub.session(id)).workspace).toBe(site)
    await hub.event(id, 'turn_end')
    const trail = await hub.api<{ records: { verb: string; detail?: string }[] }>('GET', '/api/audit')
    expect(trail.records.filter((r) => r.verb === 'folder_allowed').map((r) => r.detail)).toContain(site)
    expect(screen.errors).toEqual([])
    await page.close()
  })
})
