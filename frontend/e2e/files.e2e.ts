// Files of the workspace: the tree, the changes and a file, by touch on a phone and by keys on a desktop.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'
import { tap } from './rig/touch.ts'

const wide: Size = { width: 1440, height: 900 }
const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
let hub: Hub
let device: Device
beforeAll(async () => {
  hub = await Hub.start()
  const at = (...path: string[]) => join(hub.workspace, ...path)
  const git = repository(hub.workspace)
  git('remote', 'add', 'origin', 'https://someone:secret@github.com/abidehub/garden.git')
  mkdirSync(at('beds'))
  writeFileSync(at('beds', 'main.go'), 'package main\n\nfunc main() {}\n')
  writeFileSync(at('README.md'), '# Garden\n\nRed **tulips**.\n')
  writeFileSync(at('dot.png'), dot)
  writeFileSync(at('seeds.bin'), Buffer.from([0, 255, 254, 0, 1]))
  writeFileSync(at("a #?&% ü 'name'.txt"), 'strange')
  symlinkSync('/etc/hostname', at('outside'))
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  writeFileSync(at('beds', 'main.go'), 'package main\n\nfunc main() { println("tulips") }\n')
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
  test('a file is found in the tree, shown in colour, and its commit is asked for', async () => {
    const session = await hub.newSession(`Files ${name}`)
    await hub.turn(session, '/plan')
    const screen = await device.watch(session, size)
    const { page } = screen
    const files = page.getByRole('main', { name: 'Files' })
    const take = async (role: 'link' | 'button' | 'menuitem', label: string | RegExp) => {
      const one = page.getByRole(role, { name: label, exact: true }).filter({ visible: true }).first()
      if (size === phone) return tap(one)
      await one.focus()
      await page.keyboard.press('Enter')
    }
    await take('button', 'More')
    await take('menuitem', 'Files')
    await files.waitFor()
    await take('button', /^beds/)
    await take('link', /^main\.go.*modified/)
    await files.locator('code .hljs-keyword').first().waitFor()
    expect(await files.locator('code').textContent()).toContain('println("tulips")')
    await shot(screen, `file-${size.width}`)

    const pull = files.getByRole('link', { name: 'New pull request' })
    expect(await pull.getAttribute('href')).toBe('https://github.com/abidehub/garden/compare/garden?expand=1')
    await page.goBack() // to the tree; on a desktop the tree is beside the file
    await shot(screen, `files-${size.width}`)
    await take('link', /README\.md/)
    await files.getByRole('heading', { name: 'Garden' }).waitFor()
    expect(await files.locator('strong').textContent()).toBe('tulips')
    await shot(screen, `markdown-${size.width}`)
    for (const [path, sign] of [
      ['dot.png', 'img[alt="dot.png"]'],
      ['seeds.bin', 'text=A binary file'],
      ["a #?&% ü 'name'.txt", 'code:text-is("strange")'],
      ['outside', '[role=alert]'],
      ['../data/hub.json', '[role=alert]'],
    ]) {
      await page.goto(`${hub.origin}/s/${session}/files?path=${encodeURIComponent(path!)}`)
      await files.locator('section').locator(sign!).waitFor()
      if (path === 'dot.png')
        await until('its pixels', () =>
          files
            .locator('section')
            .locator(sign!)
            .evaluate((image: HTMLImageElement) => image.naturalWidth > 0),
        )
    }
    await page.goto(`${hub.origin}/s/${session}/files?path=beds%2Fmain.go`)
    await take('button', 'Commit…')
    await screen.composer.waitFor()
    expect(await screen.composer.inputValue()).toContain('Commit the uncommitted changes in `beds/main.go`')
    await page.goto(`${hub.origin}/s/${session}/files?path=beds%2Fmain.go`)
    await take('button', 'Discard…')
    await until('the prompt that discards', async () =>
      /Discard the uncommitted changes in `beds\/main.go`/.test(await screen.composer.inputValue()),
    )
    await page.close()
    await hub.deleteSession(session)
  })
})
