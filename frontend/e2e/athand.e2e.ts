// What is at hand: a folder for a new session, and files after an @, by touch on a phone and by keys on a desktop.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

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

  test('a folder is browsed to, another made in it, and the session runs there', async () => {
    const screen = await device.open('/', size)
    const { page } = screen
    const press = async (label: string) => {
      const button = page.getByRole('button', { name: label, exact: true }).filter({ visible: true }).first()
      if (touch) return button.click()
      await button.focus()
      await page.keyboard.press('Enter')
    }
    await (touch ? press('Start your first session') : page.keyboard.press('c'))
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('First prompt').fill('/plan')
    await press('Browse folders…')
    const browser = dialog.getByRole('group', { name: 'Choose a folder' })
    await browser.getByRole('button', { name: 'garden' }).waitFor()
    await press('garden')
    await browser.getByRole('button', { name: 'pots' }).waitFor()
    await dialog.getByLabel('Name of a new folder').fill(`bed-${size.width}`)
    await dialog.getByLabel('Name of a new folder').press('Enter')
    const made = join(hub.workspace, 'garden', `bed-${size.width}`)
    await browser.getByText(made).first().waitFor()
    await shot(screen, `new-session-${size.width}`)
    await press('Use this folder')
    expect(await dialog.locator('input[list=workspaces]').inputValue()).toBe(made)
    await press('Start')
    await page.waitForURL('**/s/*')
    const id = new URL(page.url()).pathname.slice('/s/'.length)
    expect((await hub.api<{ workspace: string }>('GET', `/api/sessions/${id}`)).workspace).toBe(made)
    await hub.event(id, 'turn_end')
    await hub.deleteSession(id)
    await page.close()
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
    await (touch ? found.click() : screen.page.keyboard.press('Tab'))
    expect(await screen.composer.inputValue()).toBe('look at @garden/tulip.md ')
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
    expect(await screen.composer.inputValue()).toBe('look at @garden/tulip.md now')
    await screen.page.close()
    await hub.deleteSession(session)
  })
})
