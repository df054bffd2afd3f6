import { describe, expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { paired } from './rig/paired.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { stored } from './rig/stored.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

const files = ['one.txt', 'two.txt'].map((name) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(`what is in ${name}`),
}))

describe('files chosen for a prompt', () => {
  const at = paired()

  const names = (screen: Screen) => screen.page.locator('[data-file]').allInnerTexts()
  const shows = (screen: Screen, ...wanted: string[]) =>
    until(`the files ${wanted}`, async () => {
      const shown = await names(screen)
      return shown.length === wanted.length && wanted.every((name, i) => shown[i]!.includes(name))
    })
  const choose = (screen: Screen) => screen.page.locator('[data-picker]').setInputFiles(files)
  /** The number of files in the browser's database, of all sessions. */
  const kept = async (screen: Screen) => (await stored(screen.page, 'files')).length

  test('are there after a reload, are sent whole, and are deleted from the device then', async () => {
    const session = await at.hub.newSession('Reloaded')
    const screen = await at.device.watch(session)
    await choose(screen)
    await screen.composer.fill('/slow 1')
    await until('the files on the device', async () => (await kept(screen)) === 2)
    await screen.page.reload()
    await shows(screen, 'one.txt', 'two.txt')
    await expect.poll(() => screen.composer.inputValue()).toBe('/slow 1')
    await screen.composer.press('Control+Enter')
    const asked = await at.hub.event(session, 'user_prompt')
    expect(asked.data.attachments?.map((a) => [a.name, a.bytes])).toEqual([
      ['one.txt', 18],
      ['two.txt', 18],
    ])
    await until('nothing on the device', async () => (await kept(screen)) === 0)
    await screen.page.reload()
    await screen.reaches(session, asked.seq)
    await shows(screen)
    await screen.page.close()
  })

  test('say by touch what becomes of them: only what is a picture by its bytes goes as an image', async () => {
    const session = await at.hub.newSession('Pictures')
    await at.hub.turn(session, '/noise') // from now on it is known what the agent takes
    const screen = await at.device.watch(session, phone)
    const png = '\x89PNG\r\n\x1a\n'
    const named = (name: string, mimeType: string, content: string) => ({
      name,
      mimeType,
      buffer: Buffer.from(content, 'latin1'),
    })
    const [chooser] = await Promise.all([
      screen.page.waitForEvent('filechooser'),
      tap(screen.page.getByRole('button', { name: 'Add files' })),
    ])
    await chooser.setFiles([
      named('shot.bin', 'application/octet-stream', png),
      named('IMG_2041.HEIC', 'image/heic', '\0\0\0\x18ftypheic'),
      named('page.png', 'image/png', '<!doctype html>'),
      named('drawing.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
      named('notes.txt', 'text/plain', 'notes'),
    ])
    const said = (name: string) => screen.page.locator(`[data-file="${name}"] small`)
    const words = 'as a file: not a PNG, JPEG, GIF or WebP'
    for (const [name, how] of [
      ['shot.bin', '8 B as an image'],
      ['IMG_2041.HEIC', `12 B ${words}`],
      ['page.png', `15 B ${words}`],
      ['drawing.svg', `41 B ${words}`],
      ['notes.txt', '5 B as a file'],
    ] as const)
      await expect.poll(() => said(name).innerText()).toBe(how)
    await shot(screen, 'files-390')
    expect(await barriers(screen.page)).toEqual([])
    for (const name of ['shot.bin', 'IMG_2041.HEIC', 'page.png', 'drawing.svg', 'notes.txt'])
      await tap(screen.page.getByRole('button', { name: `Remove ${name}` }))
    await shows(screen)
    await screen.page.close()
  })

  test('are there after the browser was killed, except removed ones', async () => {
    const session = await at.hub.newSession('Killed')
    const mortal = await Device.pair(at.hub)
    // Chromium saves cookies after half a minute, or when it closes.
    await mortal.browser.close()
    await mortal.browser.reopen()
    const screen = await mortal.watch(session)
    await choose(screen)
    await shows(screen, 'one.txt', 'two.txt')
    await screen.page.getByRole('button', { name: 'Remove one.txt' }).click()
    await until('one file on the device', async () => (await kept(screen)) === 1)
    await mortal.browser.kill()
    await mortal.browser.reopen()
    const again = await mortal.watch(session)
    await shows(again, 'two.txt')
    await again.page.locator('[data-file] >> text=18 B').waitFor()
    await mortal.stop()
  })

  test('are the same in two tabs, whichever tab adds or removes them', async () => {
    const session = await at.hub.newSession('Two tabs')
    const one = await at.device.watch(session)
    const two = await at.device.watch(session)
    await choose(one)
    for (const tab of [one, two]) await shows(tab, 'one.txt', 'two.txt')
    await two.page.getByRole('button', { name: 'Remove one.txt' }).click()
    for (const tab of [two, one]) await shows(tab, 'two.txt')
    const three = { ...files[0]!, name: 'three.txt' }
    await two.page.locator('[data-picker]').setInputFiles([three])
    for (const tab of [two, one]) await shows(tab, 'two.txt', 'three.txt')
    await one.page.getByRole('button', { name: 'Remove two.txt' }).click()
    for (const tab of [one, two]) await shows(tab, 'three.txt')
    await one.page.getByRole('button', { name: 'Remove three.txt' }).click()
    for (const tab of [one, two]) await shows(tab)
    for (const tab of [one, two]) await tab.page.close()
  })

  test('of a session that was deleted elsewhere are deleted from the device', async () => {
    const session = await at.hub.newSession('Deleted')
    const screen = await at.device.watch(session)
    const before = await kept(screen)
    await choose(screen)
    await until('the files on the device', async () => (await kept(screen)) === before + 2)
    await at.hub.deleteSession(session)
    await screen.page.close()
    const other = await at.device.open('/')
    await until('nothing left of it', async () => (await kept(other)) === before)
    await other.page.close()
  })
})
