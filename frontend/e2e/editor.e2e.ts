// Links that open a file in the person's editor, by touch on a phone and by keys on a desktop.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

const at = paired()
const desk: Size = { width: 1280, height: 800 }

for (const size of [phone, desk]) {
  test(`a file is opened in the editor that was chosen, at ${size.width}`, async () => {
    const folder = join(at.hub.workspace, `beds ${size.width}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'a #1.txt'), 'one\ntwo\nthree\n')
    const made = await at.hub.api<SessionInfo>('POST', '/api/sessions', { name: 'beds', workspace: folder })
    const file = `/s/${made.session_id}/files?path=${encodeURIComponent('a #1.txt')}`
    const screen = await at.device.open(file, size)
    const { page, errors } = screen
    await page.getByText('3 lines').waitFor()
    if (size === phone) expect(await page.getByRole('link', { name: /^Open in/ }).count()).toBe(0)

    await page.goto(new URL('/settings', page.url()).href)
    const choice = page.getByRole('combobox', { name: 'Open files in' })
    await choice.waitFor()
    if (size === phone) {
      await choice.selectOption('VS Code')
    } else {
      await choice.focus()
      await page.keyboard.type('VS')
    }
    const host = page.getByRole('textbox', { name: /^SSH host of the hub/ })
    await host.fill('-oBad')
    await host.press('Tab')
    await page.getByText('Enter a host such as box or ada@box').waitFor()
    await host.fill('ada@box')
    await host.press('Tab')
    await host.scrollIntoViewIfNeeded()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `editor-settings-${size.width}`)

    await page.goto(new URL(file, page.url()).href)
    const link = page.getByRole('link', { name: 'Open in VS Code' })
    await link.waitFor()
    const path = join(folder, 'a #1.txt').split('/').map(encodeURIComponent).join('/')
    await expect
      .poll(() => link.getAttribute('href'))
      .toBe(`vscode://vscode-remote/ssh-remote+ada@box${path}`)
    expect(await barriers(page)).toEqual([])
    await shot(screen, `editor-file-${size.width}`)

    const numbers = page.locator('pre.numbers')
    if (size === phone) await tap(numbers)
    else await numbers.click()
    const remark = page.getByRole('dialog', { name: /^Comment on/ })
    await expect
      .poll(() => remark.getByRole('link', { name: 'Open in VS Code' }).getAttribute('href'))
      .toBe(`vscode://vscode-remote/ssh-remote+ada@box${path}:2:1`)
    await shot(screen, `editor-remark-${size.width}`)
    await page.keyboard.press('Escape')
    expect(errors).toEqual([])
    await page.close()
  })
}
