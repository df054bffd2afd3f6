// A session that worked in its own copy of a repository asks what becomes of the copy when it needs it no more.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { repository } from './rig/git.ts'
import { shot } from './rig/shot.ts'

const at = paired()

/** A session in a copy with a file that is not committed. */
async function inCopy(name: string): Promise<SessionInfo> {
  const folder = join(at.hub.workspace, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.md'), '# A\n')
  const git = repository(folder)
  git('add', '.')
  git('commit', '--quiet', '-m', 'one')
  const made = await at.hub.api<SessionInfo>('POST', '/api/sessions', {
    name,
    workspace: folder,
    worktree: {},
  })
  writeFileSync(join(made.workspace, 'b.md'), '# B\n')
  return made
}

test('an archived session’s copy is removed once what is lost was named', async () => {
  const made = await inCopy('garden')
  const screen = await at.device.open(`/s/${made.session_id}`, phone)
  const { page, errors } = screen
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Archive', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Its working copy' })
  await dialog.getByText('Files that are not committed and are lost: 1.').waitFor()
  expect(await barriers(page)).toEqual([])
  await shot(screen, 'left-copy')
  await dialog.getByRole('button', { name: 'Remove the copy' }).click()
  await page.getByText('The working copy was removed.').waitFor()
  expect(existsSync(made.workspace)).toBe(false)
  await expect.poll(() => dialog.count()).toBe(0)
  expect(errors).toEqual([])
  await page.close()
})

test('a deleted session’s copy is kept if the person says so', async () => {
  const made = await inCopy('pond')
  const { page, errors } = await at.device.open(`/s/${made.session_id}`)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByRole('menuitem', { name: 'Delete', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Its working copy' })
  await dialog.getByText('Files that are not committed and are lost: 1.').waitFor()
  await dialog.getByRole('button', { name: 'Keep the copy' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(new URL(page.url()).pathname).toBe('/')
  expect(existsSync(made.workspace)).toBe(true)
  expect(errors).toEqual([])
  await page.close()
})

const desk: Size = { width: 1280, height: 800 }
for (const size of [phone, desk]) {
  test(`the copy of an archived session is merged and then removed, at ${size.width}`, async () => {
    const name = `wood-${size.width}`
    const made = await inCopy(name)
    const project = repository(join(at.hub.workspace, name))
    project('config', 'user.name', 'Ann')
    project('config', 'user.email', 'ann@example.org')
    const copy = repository(made.workspace)
    copy('add', 'b.md')
    copy('commit', '--quiet', '-m', 'two')
    writeFileSync(join(made.workspace, 'c.md'), '# C\n')
    const screen = await at.device.open(`/s/${made.session_id}`, size)
    const { page, errors } = screen
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Archive', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Its working copy' })
    await dialog.getByText('Its branch stays. Commits of its own: 1.').waitFor()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `merge-copy-${size.width}`)
    await dialog.getByRole('button', { name: 'Merge into garden' }).click()
    await dialog.getByText('These files are not committed, so they stay behind:').waitFor()
    await dialog.getByRole('listitem').getByText('c.md').waitFor()
    await dialog.getByRole('button', { name: 'Commit these files first…' }).waitFor()
    await shot(screen, `left-of-copy-${size.width}`)
    await dialog.getByRole('button', { name: 'Merge without them' }).click()
    await page.getByText('Merged into garden.').waitFor()
    expect(existsSync(join(at.hub.workspace, name, 'b.md'))).toBe(true)
    await dialog.getByText('Commits of its own').waitFor({ state: 'detached' })
    await dialog.getByText('Files that are not committed and are lost: 1.').waitFor()
    await shot(screen, `merged-copy-${size.width}`)
    await dialog.getByRole('button', { name: 'Remove the copy' }).click()
    await page.getByText('The working copy was removed.').waitFor()
    expect(existsSync(made.workspace)).toBe(false)
    expect(errors).toEqual([])
    await page.close()
  })

  test(`a working copy is discarded with its branch while its session is open, at ${size.width}`, async () => {
    const made = await inCopy(`hill-${size.width}`)
    const screen = await at.device.open(`/s/${made.session_id}/files`, size)
    const { page, errors } = screen
    await page.getByRole('button', { name: 'Branch…' }).click()
    const panel = page.getByRole('dialog', { name: 'Branch' })
    await panel.getByRole('button', { name: 'Discard the working copy…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Discard the working copy' })
    await dialog.getByText(`The session “hill-${size.width}” is ended.`).waitFor()
    await dialog.getByText('Files that are not committed and are lost: 1.').waitFor()
    await expect.poll(() => panel.count()).toBe(0)
    expect(existsSync(made.workspace)).toBe(true)
    expect(await barriers(page)).toEqual([])
    await shot(screen, `discard-copy-${size.width}`)
    await dialog.getByRole('button', { name: 'Discard the copy' }).click()
    await page.getByText('The working copy was removed.').waitFor()
    expect(existsSync(made.workspace)).toBe(false)
    const branches = repository(join(at.hub.workspace, `hill-${size.width}`))('branch', '--list', 'abide/*')
    expect(branches).toBe('')
    await page.waitForURL(`**/s/${made.session_id}`)
    expect(errors).toEqual([])
    await page.close()
  })
}
