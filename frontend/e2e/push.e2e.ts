// A session's branch is pushed from the app where the project allows it, and shown as a command elsewhere; a
// pull request is made of it on the page of its host, or by gh where the project says so.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { barriers, ofColours } from './rig/axe.ts'
import { phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'

const wide: Size = { width: 1440, height: 900 }
/** A hub with a session in a repository that has a remote. */
async function prepare(config: string, programs: Record<string, string> = {}) {
  const hub = await Hub.start({ config, programs })
  const git = repository(hub.workspace)
  const remote = mkdtempSync(join(tmpdir(), 'abide-remote-'))
  git('init', '-q', '--bare', remote)
  git('remote', 'add', 'origin', 'git@github.com:ann/pot.git')
  git('config', 'remote.origin.pushurl', remote)
  git('config', 'user.name', 'Ada')
  git('config', 'user.email', 'ada@example.org')
  writeFileSync(join(hub.workspace, 'beds.txt'), 'tulips\n')
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  git('checkout', '-q', '-b', 'beds')
  return { hub, git, remote, device: await Device.pair(hub) }
}
let allowed: Awaited<ReturnType<typeof prepare>>
let off: Awaited<ReturnType<typeof prepare>>
let made: Awaited<ReturnType<typeof prepare>>
beforeAll(async () => {
  allowed = await prepare('projects: {"/": {git: {push: true}}}\n')
  off = await prepare('')
  made = await prepare('projects: {"/": {git: {push: true, pull_requests: gh}}}\n', {
    gh: `printf '%s\\n' "$@" > "$HOME/asked"\n[ -e "$HOME/down" ] && { echo 'HTTP 502: the host is down' >&2; exit 1; }\necho https://github.com/ann/pot/pull/7`,
  })
})
afterAll(async () => {
  for (const one of [allowed, off, made]) {
    await one.device.stop()
    expect(await one.hub.stop()).toBe(0)
    rmSync(one.remote, { recursive: true })
  }
})

async function opened(at: typeof off, size: Size) {
  const session = await at.hub.newSession('The garden')
  await at.hub.turn(session, '/plan')
  const screen = await at.device.watch(session, size)
  await screen.page.goto(`${at.hub.origin}/s/${session}/files`)
  await screen.page.getByRole('button', { name: 'Branch…' }).click()
  return { screen, session, dialog: screen.page.getByRole('dialog', { name: 'Branch' }) }
}

for (const [name, size] of [
  ['on a phone', phone],
  ['at a desk', wide],
] as const) {
  test(`where a push is off, ${name}, the command is there to copy`, async () => {
    const { screen, dialog } = await opened(off, size)
    await dialog.getByText('push -u origin beds').waitFor()
    await dialog.getByRole('button', { name: 'Copy the command' }).waitFor()
    expect(await dialog.getByRole('radio', { name: /^Push/ }).count()).toBe(0)
    expect(await barriers(screen.page, ofColours)).toEqual([])
    await shot(screen, `push-by-hand-${size.width}`)
    await screen.page.close()
  })

  test(`where it is on, ${name}, the branch is at the remote after it, and the session says so`, async () => {
    allowed.git('commit', '-q', '--allow-empty', '-m', `for ${name}`)
    const { screen, dialog, session } = await opened(allowed, size)
    await dialog.getByRole('radio', { name: 'Push to origin' }).check()
    expect(await barriers(screen.page, ofColours)).toEqual([])
    await shot(screen, `push-${size.width}`)
    await dialog.getByRole('button', { name: 'Push', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const head = allowed.git('rev-parse', 'HEAD').trim()
    expect(allowed.git('ls-remote', allowed.remote, 'beds')).toContain(head)
    await screen.page.goto(`${allowed.hub.origin}/s/${session}`)
    await screen.page.getByText(`Pushed beds to origin, now at ${head.slice(0, 9)}.`).waitFor()
    await screen.page.close()
  })

  test(`a pull request, ${name}, is pushed first, and has its page to open`, async () => {
    allowed.git('commit', '-q', '--allow-empty', '-m', `to merge ${name}`)
    const { screen, dialog } = await opened(allowed, size)
    await dialog.getByRole('radio', { name: 'New pull request' }).check()
    await dialog.getByText('origin does not have the branch as it is here: push it first.').waitFor()
    expect(await dialog.getByRole('link', { name: 'Open the page' }).count()).toBe(0)
    expect(await barriers(screen.page, ofColours)).toEqual([])
    await shot(screen, `pull-request-unpushed-${size.width}`)
    await dialog.getByRole('button', { name: 'Push first' }).click()
    await dialog.getByRole('button', { name: 'Push', exact: true }).click()
    const page = dialog.getByRole('link', { name: 'Open the page' })
    await page.waitFor()
    await expect
      .poll(() => page.getAttribute('href'))
      .toMatch(/^https:\/\/github\.com\/ann\/pot\/compare\/beds\?/)
    await expect.poll(() => page.getAttribute('target')).toBe('_blank')
    expect(allowed.git('ls-remote', allowed.remote, 'beds')).toContain(
      allowed.git('rev-parse', 'HEAD').trim(),
    )
    expect(await barriers(screen.page, ofColours)).toEqual([])
    await shot(screen, `pull-request-${size.width}`)
    await screen.page.close()
  })

  test(`a pull request, ${name}, is made by gh where the project says so, and is there to open`, async () => {
    made.git('commit', '-q', '--allow-empty', '-m', `made ${name}`)
    made.git('push', '-q', 'origin', 'beds')
    const down = join(made.hub.home, 'down')
    writeFileSync(down, '')
    const { screen, dialog, session } = await opened(made, size)
    await dialog.getByRole('radio', { name: 'New pull request' }).check()
    await dialog.getByText('gh runs with your sign-in').waitFor()
    const message = dialog.getByRole('textbox', { name: 'Title, and the text below it' })
    await expect.poll(() => message.inputValue()).toContain('/plan')
    await message.fill('--web "beds"\n\nTulips.')
    expect(await barriers(screen.page, ofColours)).toEqual([])
    await shot(screen, `pull-request-gh-${size.width}`)
    const make = dialog.getByRole('button', { name: 'Make it with gh' })
    await make.click()
    await dialog.getByText('gh made no pull request: HTTP 502: the host is down').waitFor()
    await shot(screen, `pull-request-gh-down-${size.width}`)
    rmSync(down)
    await make.click()
    const link = dialog.getByRole('link', { name: 'Open the pull request' })
    await link.waitFor()
    await expect.poll(() => link.getAttribute('href')).toBe('https://github.com/ann/pot/pull/7')
    expect(readFileSync(join(made.hub.home, 'asked'), 'utf8')).toBe(
      'pr\ncreate\n--head=beds\n--title=--web "beds"\n--body=Tulips.\n',
    )
    await shot(screen, `pull-request-gh-made-${size.width}`)
    await screen.page.goto(`${made.hub.origin}/s/${session}`)
    await screen.page.getByText('Made a pull request of beds: https://github.com/ann/pot/pull/7').waitFor()
    await screen.page.close()
  })

  test(`where a push is off, ${name}, the page is there all the same`, async () => {
    const { screen, dialog } = await opened(off, size)
    await dialog.getByRole('radio', { name: 'New pull request' }).check()
    await dialog.getByRole('button', { name: 'Find the page all the same' }).click()
    await dialog.getByRole('link', { name: 'Open the page' }).waitFor()
    await screen.page.close()
  })
}
