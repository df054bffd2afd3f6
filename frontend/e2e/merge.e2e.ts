// The branch of a session’s own copy on its way into its base.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { repository } from './rig/git.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

const at = paired()

/** A session in a copy of a new repository, with a file that is not committed. */
async function inCopy(name: string, agent = 'demo') {
  const folder = join(at.hub.workspace, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.md'), '# A\n')
  const base = repository(folder)
  base('config', 'user.name', 'Ann')
  base('config', 'user.email', 'ann@example.org')
  base('add', '.')
  base('commit', '--quiet', '-m', 'one')
  const made = await at.hub.api<SessionInfo>('POST', '/api/sessions', {
    name,
    agent,
    workspace: folder,
    worktree: {},
  })
  writeFileSync(join(made.workspace, 'b.md'), '# B\n')
  return { made, base }
}

test.each([
  { how: 'by touch at 390', size: phone },
  { how: 'by keyboard at 1280', size: { width: 1280, height: 800 } },
])('where nothing is committed, a merge leads to the commit, and back, $how', async ({ size }) => {
  const { made, base } = await inCopy(`bed-${size.width}`)
  const screen = await at.device.open(`/s/${made.session_id}/files`, size)
  const { page } = screen
  const take = async (name: string) => {
    const one = page.getByRole('button', { name, exact: true })
    if (size === phone) return tap(one)
    await one.focus()
    await page.keyboard.press('Enter')
  }
  await take('Branch…')
  const dialog = page.getByRole('dialog', { name: 'Branch' })
  await dialog.getByText('Nothing is committed on this branch yet. Commit these files first:').waitFor()
  await dialog.getByRole('listitem').getByText('b.md').waitFor()
  await expect.poll(() => dialog.getByRole('radio', { name: 'Merge into the base' }).isChecked()).toBe(true)
  await expect.poll(() => dialog.getByRole('button', { name: /^Merge/ }).count()).toBe(0)
  expect(await barriers(page)).toEqual([])
  await shot(screen, `nothing-committed-${size.width}`)
  await take('Commit these files first…')
  const commits = page.getByRole('dialog', { name: 'Commit' })
  await commits.getByRole('textbox', { name: 'Message' }).fill('Plant b')
  await take('Commit')
  await commits.waitFor({ state: 'detached' })
  await dialog.getByText('1 ahead of garden').waitFor()
  await shot(screen, `committed-first-${size.width}`)
  await take('Merge')
  await dialog.waitFor({ state: 'detached' })
  expect(base('log', '-1', '--format=%s', 'garden^2').trim()).toBe('Plant b')
  expect(screen.errors).toEqual([])
  await page.close()
})

test.each([
  { how: 'by touch at 390', size: phone },
  { how: 'by keyboard at 1280', size: { width: 1280, height: 800 } },
])('a squashed branch reads merged, $how', async ({ size }) => {
  const { made, base } = await inCopy(`squashed-${size.width}`)
  const copy = repository(made.workspace)
  for (const text of ['# B\n', '# B\n\nTwo\n']) {
    writeFileSync(join(made.workspace, 'b.md'), text)
    copy('add', '.')
    copy('commit', '-qm', text)
  }
  const screen = await at.device.open(`/s/${made.session_id}/files`, size)
  const { page } = screen
  const take = async (name: string, role: 'button' | 'radio' = 'button') => {
    const one = page.getByRole(role, { name })
    if (size === phone) return tap(one)
    await one.focus()
    await page.keyboard.press(role === 'radio' ? 'Space' : 'Enter')
  }
  await take('Branch…')
  const dialog = page.getByRole('dialog', { name: 'Branch' })
  await take('Squash: one commit of all', 'radio')
  await dialog.getByRole('textbox', { name: 'Message' }).fill('Plant b')
  await take('Merge')
  await dialog.waitFor({ state: 'detached' })
  expect(base('log', '-1', '--format=%s', 'garden').trim()).toBe('Plant b')
  writeFileSync(join(base('rev-parse', '--show-toplevel').trim(), 'b.md'), '# Other\n')
  base('commit', '-qam', 'Another b')
  await page.getByText('Merged into garden, which has').waitFor()
  await take('Branch…')
  await dialog.getByText(': merged into garden').waitFor()
  await take('Merge into the base', 'radio')
  await dialog.getByText('Nothing to merge: garden has all changes of this branch.').waitFor()
  await expect.poll(() => dialog.getByRole('button', { name: /^Merge/ }).count()).toBe(0)
  expect(await barriers(page)).toEqual([])
  await shot(screen, `squashed-${size.width}`)
  await page.keyboard.press('Escape')
  await screen.go('/')
  await page
    .locator(`[data-row="${made.session_id}"]`)
    .getByRole('img', { name: /^merged, \d behind$/ })
    .waitFor()
  await shot(screen, `squashed-list-${size.width}`)
  expect(screen.errors).toEqual([])
  await page.close()
})

test.each([
  { how: 'by touch at 390', size: phone },
  { how: 'by keyboard at 1280', size: { width: 1280, height: 800 } },
])('a squash says what was asked for, and asks once for each thing, $how', async ({ size }) => {
  const { made, base } = await inCopy(`busy-${size.width}`, 'paced')
  const copy = repository(made.workspace)
  copy('add', '.')
  copy('commit', '-qm', 'one step')
  writeFileSync(join(made.workspace, 'c.md'), '# C\n')
  await at.hub.prompt(made.session_id, '/slow 3600')
  const screen = await at.device.open(`/s/${made.session_id}/files`, size)
  const { page } = screen
  const take = async (name: string, role: 'button' | 'radio' = 'button') => {
    const one = page.getByRole(role, { name })
    if (size === phone) return tap(one)
    await one.focus()
    await page.keyboard.press(role === 'radio' ? 'Space' : 'Enter')
  }
  await take('Branch…')
  const dialog = page.getByRole('dialog', { name: 'Branch' })
  await take('Squash: one commit of all', 'radio')
  await expect
    .poll(() => dialog.getByRole('textbox', { name: 'Message' }).inputValue())
    .toMatch(/^\/slow 3600/)
  const names = dialog.getByText('These files are not committed, so they stay behind:')
  await names.waitFor()
  await take('Merge without them')
  await dialog.getByText('An agent is working in this folder').waitFor()
  await expect.poll(() => names.count()).toBe(0)
  expect(await barriers(page)).toEqual([])
  await shot(screen, `busy-${size.width}`)
  await take('Merge all the same')
  await dialog.waitFor({ state: 'detached' })
  expect(base('log', '-1', '--format=%s', 'garden').trim()).toBe('/slow 3600')
  expect(screen.errors).toEqual([])
  await page.close()
})
