// A session is imported in the app and continued as a fork; a fork and its original lead to each other.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Locator } from 'playwright-core'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

describe.each([
  { on: 'a phone', size: phone, press: tap },
  { on: 'a desktop', size: desktop, press: (at: Locator) => at.click() },
])('on $on', ({ size, press }) => {
  const from = new Hub()
  const to = new Hub()
  let device: Device
  let archive: string
  let exported: string

  beforeAll(async () => {
    await Promise.all([from.start(), to.start()])
    device = await Device.pair(to, { size })
    exported = await from.newSession('Statement import')
    await from.turn(exported, '/plan one')
    archive = join(from.home, 'statement.zip')
    execFileSync(binaries.abide, ['export', exported, '--format', 'zip', '-o', archive, '--data', from.data])
  })
  afterAll(async () => {
    await device.stop()
    expect(await from.stop()).toBe(0)
    expect(await to.stop()).toBe(0)
  })

  test('a file becomes a session that says it was imported, and is continued as a fork', async () => {
    const screen = await device.open('/', size)
    const { page } = screen
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
    if (size === phone) {
      await press(
        button(/^(New session|Start your first session)$/)
          .filter({ visible: true })
          .first(),
      )
      const chooser = page.waitForEvent('filechooser')
      await press(button('Import a session…'))
      await (await chooser).setFiles(archive)
    } else {
      await button(/^(New session|Start your first session)$/)
        .first()
        .waitFor()
      const data = await page.evaluateHandle((base64) => {
        const files = new DataTransfer()
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
        files.items.add(new File([bytes], 'statement.zip'))
        return files
      }, readFileSync(archive).toString('base64'))
      const list = page.locator('.sessions')
      await list.dispatchEvent('dragover', { dataTransfer: data })
      await page.locator('.sessions[data-over]').waitFor()
      await list.dispatchEvent('drop', { dataTransfer: data })
    }
    await page.waitForURL(`**/s/${exported}`)
    await page.getByText('Imported “Statement import”.').waitFor()
    const imported = page.getByRole('region', { name: 'Imported' })
    await imported.waitFor()
    expect(await screen.composer.count(), 'nothing is written in an imported session').toBe(0)
    await page.getByRole('feed').getByText('/plan one').first().waitFor()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `imported-${size.width}`)

    await press(imported.getByRole('button', { name: 'Fork…' }))
    await page.getByRole('dialog', { name: 'Fork' }).waitFor()
    await page.getByText(/^Starts a new session with a summary/).waitFor()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `fork-${size.width}`)
    await press(button(/^Fork from event/))
    await page.getByRole('heading', { name: 'Fork of Statement import' }).waitFor()
    const fork = new URL(page.url()).pathname.slice('/s/'.length)
    expect(fork).not.toBe(exported)
    await screen.composer.waitFor()
    const origin = page.getByRole('feed').getByRole('link', { name: 'Statement import' })
    await origin.waitFor()
    await shot(screen, `forked-${size.width}`)
    await press(origin)
    await page.waitForURL((url) => url.pathname === `/s/${exported}`)

    await press(button('Details'))
    const back = page.getByRole('link', { name: 'Fork of Statement import' }).last()
    await back.waitFor()
    await shot(screen, `forks-${size.width}`)
    await press(back)
    await page.waitForURL((url) => url.pathname === `/s/${fork}`)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('a file that is no export is refused with the reason', async () => {
    const { page, errors } = await device.open('/', size)
    await press(page.getByRole('button', { name: 'New session', exact: true }))
    const chooser = page.waitForEvent('filechooser')
    await press(page.getByRole('button', { name: 'Import a session…' }))
    await (
      await chooser
    ).setFiles([{ name: 'notes.zip', mimeType: 'application/zip', buffer: Buffer.from('no zip') }])
    await page
      .getByText(/^notes\.zip was not imported: ./)
      .first()
      .waitFor()
    expect(errors).toEqual([])
    await page.close()
  })
})
