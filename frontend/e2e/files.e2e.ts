// Files of the workspace: the tree, the changes and a file, by touch on a phone and by keys on a desktop.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { barriers, ofColours } from './rig/axe.ts'
import { strangeNames } from '../test/support/strangenames.ts'
import { phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
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
let git: ReturnType<typeof repository>
beforeAll(async () => {
  hub = await Hub.start()
  const at = (...path: string[]) => join(hub.workspace, ...path)
  git = repository(hub.workspace)
  git('remote', 'add', 'origin', 'https://someone:secret@github.com/abidehub/garden.git')
  mkdirSync(at('beds'))
  writeFileSync(at('beds', 'main.go'), 'package main\n\nfunc main() {}\n')
  writeFileSync(at('README.md'), '# Garden\n\nRed **tulips**.\n')
  writeFileSync(at('old.go'), 'package old\n')
  writeFileSync(at('dot.png'), dot)
  writeFileSync(at('seeds.bin'), Buffer.from([0, 255, 254, 0, 1]))
  writeFileSync(at("a #?&% ü 'name'.txt"), 'strange')
  symlinkSync('/etc/hostname', at('outside'))
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.org')
  rmSync(at('old.go'))
  mkdirSync(at('paths'))
  writeFileSync(at('paths', 'stones.go'), 'package paths\n')
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
  let session: string
  let screen: Screen
  const take = async (role: 'link' | 'button' | 'menuitem', label: string | RegExp) => {
    const { page } = screen
    const one = page.getByRole(role, { name: label, exact: true }).filter({ visible: true }).first()
    if (size === phone) return tap(one)
    await one.focus()
    await page.keyboard.press('Enter')
  }
  beforeEach(async () => {
    writeFileSync(
      join(hub.workspace, 'beds', 'main.go'),
      'package main\n\nfunc main() { println("tulips") }\n',
    )
    session = await hub.newSession(`Files ${name}`)
    await hub.turn(session, '/plan')
    screen = await device.watch(session, size)
  })
  afterEach(async () => {
    await screen.page.close()
    await hub.deleteSession(session)
  })

  test('chosen files are committed with a message, and the talk says so', async () => {
    const { page } = screen
    const added = join(hub.workspace, `tulips-${size.width}.txt`)
    writeFileSync(added, 'red\n')
    await page.goto(`${hub.origin}/s/${session}/files`)
    await take('button', 'Commit…')
    const dialog = page.getByRole('dialog', { name: 'Commit' })
    const message = dialog.getByRole('textbox', { name: 'Message' })
    await until('the draft', async () => (await message.inputValue()) !== '')
    for (const box of await dialog.getByRole('checkbox').all()) await box.uncheck()
    await dialog.getByRole('checkbox', { name: new RegExp(`tulips-${size.width}`) }).check()
    await message.fill('Plant tulips\n\nThey are red.')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await barriers(page, ofColours)).toEqual([])
      await shot(screen, `commit-${size.width}-${colorScheme}`)
    }
    await take('button', 'Commit')
    await dialog.waitFor({ state: 'detached' })
    const log = git('log', '-1', '--format=%an %s', '--name-only')
    expect(log.trim().split(/\n+/)).toEqual(['Ada Plant tulips', `tulips-${size.width}.txt`])
    await page.goto(`${hub.origin}/s/${session}`)
    await page.getByText(/^Committed 1 file on garden as .*: Plant tulips/).waitFor()
  })

  test('the branch is updated from its base and merged into it; conflicts are named, and the agent is asked', async () => {
    const { page } = screen
    const at = (name: string) => join(hub.workspace, name)
    const commit = (name: string, text: string) => {
      writeFileSync(at(name), text)
      git('add', name)
      git('commit', '-q', '-m', `write ${name}`)
    }
    const name = `hedge-${size.width}.txt`
    git('checkout', '-q', '-b', 'main')
    commit(name, 'of main\n')
    git('checkout', '-q', '-b', `side-${size.width}`)
    commit(`side-${size.width}.txt`, 'of the side\n')
    git('checkout', '-q', 'main')
    commit(`later-${size.width}.txt`, 'of main\n')
    git('checkout', '-q', `side-${size.width}`)
    const dialog = page.getByRole('dialog', { name: 'Branch' })
    const open = async () => {
      await page.goto(`${hub.origin}/s/${session}/files`)
      await take('button', 'Branch…')
      await dialog.getByRole('radio', { name: 'Merge into the base' }).waitFor()
    }
    await open()
    await dialog.getByRole('radio', { name: 'Update from the base' }).check()
    await dialog.getByRole('radio', { name: /^Rebase/ }).check()
    expect(await barriers(page, ofColours)).toEqual([])
    await shot(screen, `branch-${size.width}`)
    await take('button', 'Update')
    await dialog.waitFor({ state: 'detached' })
    expect(git('log', '-2', '--format=%s').trim().split('\n')).toEqual([
      `write side-${size.width}.txt`,
      `write later-${size.width}.txt`,
    ])
    await open()
    await dialog.getByRole('radio', { name: 'Merge into the base' }).check()
    await dialog.getByRole('radio', { name: /^Squash/ }).check()
    await dialog.getByRole('textbox', { name: 'Message' }).fill('Plant the side')
    await dialog.getByText('These files are not committed, so they stay behind:').waitFor()
    await dialog.getByRole('listitem').filter({ hasText: 'beds/main.go' }).waitFor()
    expect(await barriers(page, ofColours)).toEqual([])
    await shot(screen, `left-behind-${size.width}`)
    await take('button', 'Merge without them')
    await dialog.waitFor({ state: 'detached' })
    expect(git('log', '-1', '--format=%s', 'main').trim()).toBe('Plant the side')

    git('checkout', '-q', 'main')
    commit(name, 'changed by main\n')
    git('checkout', '-q', `side-${size.width}`)
    commit(name, 'changed by the side\n')
    await open()
    await dialog.getByRole('radio', { name: 'Update from the base' }).check() // what is shown may be of before
    await take('button', 'Update')
    await dialog.getByText(`these files conflict: ${name}`).waitFor()
    await dialog.getByRole('heading', { name: 'Conflicts with main' }).waitFor()
    expect(await barriers(page, ofColours)).toEqual([])
    await shot(screen, `conflicts-${size.width}`)
    await take('button', 'Ask the agent to resolve them')
    await screen.composer.waitFor()
    await expect.poll(() => screen.composer.inputValue()).toContain(`resolve the conflicts in: ${name}`)
    await screen.composer.fill('')
    git('checkout', '-q', 'garden')
    git('branch', '-q', '-D', 'main')
  })

  test('a changed file opens on what changed in it, and follows the agent; a deleted and a new one are shown, too', async () => {
    const { page } = screen
    const files = page.getByRole('main', { name: 'Files' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const diff = files.getByRole('group', { name: /^Changes in/ })
    const lines = (kind: 'add' | 'remove') => diff.locator(`.l.${kind} code`).allTextContents()
    await take('button', 'More')
    await take('menuitem', 'Files')
    await files.getByRole('button', { name: /^Changed 3/, pressed: true }).waitFor()
    await take('link', /main\.go.*modified/)
    await diff.locator('.hljs-keyword').first().waitFor()
    await expect.poll(() => lines('remove')).toEqual(['func main() {}'])
    await expect.poll(() => lines('add')).toEqual(['func main() { println("tulips") }'])
    expect((await diff.locator('.changed').allTextContents()).join('')).toContain('println')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await barriers(page, ofColours)).toEqual([])
      await shot(screen, `changes-${size.width}-${colorScheme}`)
    }
    if (size !== phone) {
      await take('button', 'Side by side')
      await diff.locator('.lines.split').waitFor()
      await shot(screen, `changes-split-${size.width}`)
      await take('button', 'Side by side')
    }
    await take('button', 'Change actions')
    await take('menuitem', 'Copy diff')
    await until('the copied diff', async () =>
      (await page.evaluate(() => navigator.clipboard.readText())).startsWith(
        '--- a/beds/main.go\n+++ b/beds/main.go\n@@ -1,3 +1,3 @@\n',
      ),
    )

    // The agent goes on, and so does the file.
    writeFileSync(
      join(hub.workspace, 'beds', 'main.go'),
      'package main\n\nfunc main() { println("roses") }\n',
    )
    await hub.turn(session, '/plan')
    await until('the newer change', async () => (await lines('add')).join().includes('roses'))
    await take('button', 'File')
    await files.getByRole('group', { name: 'Content' }).getByText('println("roses")').waitFor()
    writeFileSync(
      join(hub.workspace, 'beds', 'main.go'),
      'package main\n\nfunc main() { println("lilies") }\n',
    )
    await hub.turn(session, '/plan')
    await files.getByRole('group', { name: 'Content' }).getByText('println("lilies")').waitFor()

    await page.goto(`${hub.origin}/s/${session}/files`)
    await take('link', /^old\.go.*deleted/)
    await files.getByText('This file was deleted.').waitFor()
    await until('the lines that are gone', async () => (await lines('remove')).join() === 'package old')
    await page.goto(`${hub.origin}/s/${session}/files`)
    await take('link', /^paths.*new/)
    await take('link', /^stones\.go/)
    await until('the new lines', async () => (await lines('add')).join() === 'package paths')
  })

  test('a file is found in the tree, shown in colour, and its commit is asked for', async () => {
    const { page } = screen
    const files = page.getByRole('main', { name: 'Files' })
    await take('button', 'More')
    await take('menuitem', 'Files')
    await files.waitFor()
    await take('button', 'All')
    await take('button', /^beds/)
    await take('link', /^main\.go.*modified/)
    await take('button', 'File')
    await files.locator('pre code .hljs-keyword').first().waitFor()
    await expect.poll(() => files.locator('pre code').textContent()).toContain('println("tulips")')
    await shot(screen, `file-${size.width}`)

    await page.goBack() // to the tree; on a desktop the tree is beside the file
    await shot(screen, `files-${size.width}`)
    await take('link', /README\.md/)
    await files.getByRole('heading', { name: 'Garden' }).waitFor()
    await expect.poll(() => files.locator('strong').textContent()).toBe('tulips')
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
    await take('button', 'Ask the agent')
    await screen.composer.waitFor()
    await expect
      .poll(() => screen.composer.inputValue())
      .toContain('Commit the uncommitted changes in `beds/main.go`')
    await page.goto(`${hub.origin}/s/${session}/files?path=beds%2Fmain.go`)
    await take('button', 'Discard…')
    await until('the prompt that discards', async () =>
      /Discard the uncommitted changes in `beds\/main.go`/.test(await screen.composer.inputValue()),
    )
  })
})

test('each file of a strange name is opened from the tree, and by its address', async () => {
  const folder = join(hub.workspace, 'strange')
  mkdirSync(folder)
  for (const [n, name] of strangeNames.entries()) writeFileSync(join(folder, name), `the file ${n}.`)
  writeFileSync(Buffer.concat([Buffer.from(join(folder, 'not')), Buffer.from([0xff])]), 'x')
  const session = await hub.newSession('Strange')
  const screen = await device.open(`/s/${session}/files`, wide)
  const { page } = screen
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByRole('button', { name: /^strange/ }).click()
  const links = page.locator('nav ul ul a')
  await links.nth(strangeNames.length - 1).waitFor()
  await expect.poll(() => links.count()).toBe(strangeNames.length)
  await page.locator('nav .other', { hasText: 'not\ufffd' }).waitFor()
  const seen = new Set<string>()
  for (const link of await links.all()) {
    await link.click()
    const name = new URL(page.url()).searchParams.get('path')!.replace(/^strange\//, '')
    const content = page.locator('code', { hasText: `the file ${strangeNames.indexOf(name)}.` })
    await content.waitFor()
    if (/[%#?\n]/.test(name)) {
      await page.reload()
      await content.waitFor()
    }
    seen.add(name)
  }
  expect([...seen].sort()).toEqual([...strangeNames].sort())
  expect(screen.errors).toEqual([])
  await page.close()
  await hub.deleteSession(session)
})
