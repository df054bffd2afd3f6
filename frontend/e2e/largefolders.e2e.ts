// A very large workspace on a phone: the parts that are shown, cut or refused.
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'

const manyFiles = 100_000
const manyChanges = 5_000
const shown = 2_000
const MiB = 1 << 20

let hub: Hub
let device: Device
let session: string
let screen: Screen
beforeAll(async () => {
  hub = await Hub.start()
  const at = (...path: string[]) => join(hub.workspace, ...path)
  const git = repository(hub.workspace)
  mkdirSync(at('leaves'))
  for (let i = 0; i < manyChanges; i++) writeFileSync(at('leaves', `leaf-${i}.txt`), 'green\n')
  git('add', '.')
  git('commit', '-q', '-m', 'spring')
  for (let i = 0; i < manyChanges; i++) writeFileSync(at('leaves', `leaf-${i}.txt`), 'red and brown\n')
  writeFileSync(at('.gitignore'), '/seeds\n')
  mkdirSync(at('seeds'))
  for (let i = 0; i < manyFiles; i++) writeFileSync(at('seeds', `seed-${i}`), '')
  writeFileSync(at('huge.txt'), 'one line of text\n'.repeat((2 * MiB) / 17 + 1))
  truncateSync(at('huge.txt'), 100 * MiB)
  writeFileSync(at('huge.bin'), Buffer.from([0, 255, 254, 0, 1]))
  truncateSync(at('huge.bin'), 100 * MiB)
  mkdirSync(join(hub.home, 'elsewhere'))
  writeFileSync(join(hub.home, 'elsewhere', 'secret.txt'), 'not of the workspace')
  symlinkSync(join(hub.home, 'elsewhere'), at('out'))
  device = await Device.pair(hub)
  session = await hub.newSession('Large')
  screen = await device.watch(session, phone)
})
afterAll(async () => {
  await device.stop()
  expect(await hub.stop()).toBe(0)
})

const files = () => screen.page.getByRole('main', { name: 'Files' })
const see = (path: string) =>
  screen.page.goto(`${hub.origin}/s/${session}/files?path=${encodeURIComponent(path)}`)

test('a folder of 100,000 files is listed in part, with the number of the rest', async () => {
  await see('')
  await files().getByRole('button', { name: 'All' }).click()
  await files().getByRole('button', { name: 'seeds' }).click()
  await files()
    .getByText(`${manyFiles - shown} more are not listed.`)
    .waitFor()
  await expect
    .poll(() =>
      files()
        .getByRole('link', { name: /^seed-/ })
        .count(),
    )
    .toBe(shown)
  await shot(screen, 'large-folder')
})

test('of 5,000 changed files some are listed, and all are counted', async () => {
  await see('')
  const all = manyChanges + 4 // .gitignore, two large files and the link
  await files()
    .getByRole('button', { name: `Changed ${all}` })
    .click()
  const rest = files().getByText(/^\d+ more are not listed\.$/)
  await rest.waitFor()
  const named = await files()
    .getByRole('link', { name: /modified$/ })
    .count()
  await expect.poll(() => rest.textContent()).toBe(`${all - named} more are not listed.`)
  await shot(screen, 'large-changes')
  // The prompt to commit covers all changed files, including those not listed.
  await files().getByRole('button', { name: 'Commit…' }).click()
  await screen.page.getByRole('button', { name: 'Ask the agent' }).click()
  await screen.composer.waitFor()
  await expect
    .poll(() => screen.composer.inputValue())
    .toContain('Commit all uncommitted changes in the workspace')
  await screen.composer.fill('')
})

test('the start of a file of 100 MB is shown, and nothing of a binary file', async () => {
  await see('huge.txt')
  const content = files().getByRole('group', { name: 'Content' })
  await content.waitFor()
  const length = async () => (await content.locator('code').textContent())!.length
  expect(await length()).toBeLessThanOrEqual(200_000)
  await shot(screen, 'large-file')
  const more = files().getByRole('button', { name: 'Show more' })
  while (await more.isVisible()) {
    const before = await length()
    await more.click()
    await expect.poll(length).toBeGreaterThan(before)
  }
  await files().getByText('Only the first 2.0 MB of 100.0 MB are shown.').waitFor()
  await see('huge.bin')
  await files().getByText('A binary file. It is not shown.').waitFor()
})

test('a link out of the workspace is neither opened nor read', async () => {
  await see('')
  await files().getByText('huge.bin').waitFor()
  expect(await files().getByRole('button', { name: 'out', exact: true }).count()).toBe(0)
  await see('out/secret.txt')
  await files().getByRole('alert').waitFor()
  await expect.poll(() => files().textContent()).not.toContain('not of the workspace')
  const read = await fetch(`${hub.origin}/api/sessions/${session}/files?path=out`, {
    headers: { authorization: `Bearer ${hub.token}` },
  })
  expect(read.status).toBe(404)
})

test('@ finds a file in a workspace of 105,000', async () => {
  await screen.page.goto(`${hub.origin}/s/${session}`)
  await screen.composer.fill('')
  await screen.composer.pressSequentially('see @leaf-4999')
  await screen.page.getByRole('option', { name: /leaf-4999\.txt/ }).waitFor()
  await screen.composer.fill('')
})
