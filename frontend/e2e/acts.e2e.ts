// What one does with a message on a phone, with its taps counted: by a long press or by the button in the margin.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { repository } from './rig/git.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { agents, say } from './rig/told.ts'
import { hold, tap } from './rig/touch.ts'
import type { CommentList, SessionInfo } from '../src/wire/gen.ts'

const at = paired({ size: phone, hub: { agents } })

test('a message has no row of buttons, and a long press on it opens its acts', async () => {
  const id = await at.hub.newSession('Said', 'told')
  await at.hub.turn(id, JSON.stringify([say('First *words*.')]))
  await at.hub.turn(id, JSON.stringify([say('Second words.')]))
  const screen = await at.device.watch(id, phone)
  const { page } = screen
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const message = screen.feed.locator('.message', { hasText: 'First words' })
  const words = message.locator('.prose').last()
  // As high as its words: its button is in the margin.
  const high = async (of: typeof message) => (await of.boundingBox())!.height
  await expect.poll(async () => (await high(message)) - (await high(words))).toBe(0)
  const more = message.getByRole('button', { name: 'Message actions' })
  expect((await more.boundingBox())!.width).toBeGreaterThanOrEqual(44)

  const menu = page.getByRole('menu', { name: 'Message' })
  await hold(words, menu)
  await expect
    .poll(() => menu.getByRole('menuitem').allInnerTexts())
    .toEqual([
      'Copy',
      'Copy as Markdown',
      'Select text',
      'Copy link',
      'Comment…',
      'Fork from here',
      'Fork elsewhere…',
    ])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await barriers(page)).toEqual([])
    await shot(screen, `message-menu-${colorScheme}`)
  }
  await tap(menu.getByRole('menuitem', { name: 'Copy link' }))
  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await expect.poll(copied).toMatch(new RegExp(`/s/${id}\\?seq=\\d+$`))
  await menu.waitFor({ state: 'detached' })

  await tap(more)
  await tap(menu.getByRole('menuitem', { name: 'Select text' }))
  await expect.poll(() => page.evaluate(() => getSelection()!.toString().trim())).toBe('First words.')
  expect(screen.errors).toEqual([])
  await page.close()
})

test.each([
  ['by touch, in two taps', phone],
  ['at the desk, in two clicks', desktop],
])('a fork from the middle is made %s', async (_, size) => {
  const id = await at.hub.newSession('Forked at once', 'told')
  await at.hub.turn(id, JSON.stringify([say('Up to here.')]))
  const { seq } = await at.hub.event(id, 'turn_end')
  await at.hub.turn(id, JSON.stringify([say('Not this.')]))
  const { page, feed } = await at.device.watch(id, size)
  const menu = page.getByRole('menu', { name: 'Message' })
  const words = feed.getByText('Up to here.', { exact: true })
  const choice = menu.getByRole('menuitem', { name: 'Fork from here' })
  if (size === phone) {
    await hold(words, menu)
    await tap(choice)
  } else {
    await words.hover()
    await feed.getByRole('button', { name: 'Message actions' }).first().click()
    await choice.click()
  }
  await page.waitForURL((url) => url.pathname.startsWith('/s/') && url.pathname !== `/s/${id}`)
  const made = new URL(page.url()).pathname.slice('/s/'.length)
  const { forked_from, workspace } = await at.hub.api<SessionInfo>('GET', `/api/sessions/${made}`)
  expect(forked_from).toMatchObject({ session_id: id })
  expect(forked_from!.seq).toBeLessThan(seq)
  expect(workspace).toBe(at.hub.workspace)
  await page.close()
})

test('a fork elsewhere asks for the folder, and for the files of that time', async () => {
  const git = repository(at.hub.workspace)
  writeFileSync(join(at.hub.workspace, 'a.txt'), 'a')
  git('add', '.')
  git('commit', '-qm', 'One')
  const id = await at.hub.newSession('Forked', 'told')
  await at.hub.turn(id, JSON.stringify([say('Up to here.')]))
  const { seq } = await at.hub.event(id, 'turn_end')
  await at.hub.turn(id, JSON.stringify([say('Not this.')]))
  const screen = await at.device.watch(id, phone)
  const { page } = screen
  const menu = page.getByRole('menu', { name: 'Message' })
  await hold(screen.feed.getByText('Up to here.', { exact: true }), menu)
  await tap(menu.getByRole('menuitem', { name: 'Fork elsewhere…' }))
  const form = page.getByRole('dialog', { name: 'Fork' })
  await tap(form.getByText('In a new git worktree'))
  await expect
    .poll(() => form.getByRole('combobox', { name: 'Its files' }).locator('option').allInnerTexts())
    .toEqual(['As in the commit', 'As before the prompt of this turn', 'As at the end of this turn'])
  await shot(screen, 'fork-from-here')
  expect(await barriers(page)).toEqual([])
  await tap(form.getByText('In the same folder, as it is now'))
  await tap(form.getByRole('button', { name: /^Fork from event/ }))
  await page.waitForURL((url) => url.pathname.startsWith('/s/') && url.pathname !== `/s/${id}`)
  const made = new URL(page.url()).pathname.slice('/s/'.length)
  const { forked_from } = await at.hub.api<SessionInfo>('GET', `/api/sessions/${made}`)
  expect(forked_from).toMatchObject({ session_id: id })
  expect(forked_from!.seq).toBeLessThan(seq)
  await page.close()
})

test('a finger that stays on a line of a change comments on it: two taps', async () => {
  const id = await at.hub.newSession('Line')
  await at.hub.prompt(id, '/edit NOTES.md')
  const { permission_id, options } = (await at.hub.event(id, 'permission_request')).data
  const { option_id } = options.find((o) => o.kind === 'allow_once')!
  await at.hub.api('POST', `/api/sessions/${id}/permissions/${permission_id}`, { option_id })
  await at.hub.event(id, 'turn_end')
  const screen = await at.device.watch(id, phone)
  const { page } = screen
  const dialog = page.getByRole('dialog')
  await hold(page.locator('article .l.add code').first(), dialog)
  await page.locator('dialog textarea:focus').waitFor()
  await page.keyboard.type('Why?')
  await tap(page.getByRole('button', { name: 'Add comment' }))
  await page.locator('.remark', { hasText: 'Why?' }).waitFor()
  const { comments } = await at.hub.api<CommentList>('GET', `/api/sessions/${id}/comments`)
  expect(comments[0]).toMatchObject({ text: 'Why?' })
  expect(comments[0]!.line).toBeGreaterThan(0)
  await page.close()
})

test('a question is answered in one tap with the keyboard open, and drawn up and folded before', async () => {
  const id = await at.hub.newSession('Asked')
  await at.hub.prompt(id, '/edit NOTES.md')
  const { permission_id } = (await at.hub.event(id, 'permission_request')).data
  const screen = await at.device.watch(id, phone)
  const { page, permission } = screen
  const draw = page.getByRole('button', { name: 'Show all of it' })
  const fold = permission.getByRole('button', { name: 'Fold' })
  await draw.waitFor()
  const high = async () => (await permission.boundingBox())!.height
  await expect.poll(() => high()).toBeLessThanOrEqual(150)
  await tap(draw)
  await expect.poll(high).toBe(844)
  await permission.locator('.l.add').first().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await barriers(page)).toEqual([])
    await shot(screen, `question-drawn-${colorScheme}`)
  }
  await tap(fold)
  await draw.waitFor()
  await tap(draw)
  await fold.press('Escape')
  await draw.waitFor()
  await tap(draw)
  await fold.waitFor()
  await page.goBack()
  await draw.waitFor()

  // The keyboard is open.
  await screen.composer.focus()
  await page.setViewportSize({ width: 390, height: 460 })
  await shot(screen, 'question-keyboard')
  await tap(permission.locator('[data-option]').first())
  const { data } = await at.hub.event(id, 'permission_outcome')
  expect(data).toMatchObject({ permission_id, outcome: 'selected' })
  await permission.waitFor({ state: 'detached' })
  expect(screen.errors).toEqual([])
  await page.close()
})

test('a phone’s composer has one row below the full width of its text, and the bars of a working session are low', async () => {
  const id = await at.hub.newSession('Worked on', 'paced')
  await at.hub.prompt(id, '/slow 3600')
  const screen = await at.device.watch(id, phone)
  const { page } = screen
  const stop = page.getByRole('button', { name: 'Stop', exact: true })
  await stop.waitFor()
  await page.locator('main header.topbar').getByText('Working').waitFor()
  const box = async (of: Locator) => (await of.boundingBox())!
  const bars = async () => {
    const top = await box(page.locator('main header.topbar'))
    const feed = await box(screen.feed)
    expect(feed.y).toBeCloseTo(top.y + top.height, 0)
    return phone.height - feed.height
  }
  await expect.poll(() => bars()).toBeLessThanOrEqual(150)
  expect((await box(screen.composer)).width).toBeGreaterThanOrEqual(350)
  const row = [
    page.getByRole('button', { name: 'Add files' }),
    page.getByRole('button', { name: 'Ask · Steady', exact: true }),
    stop,
    page.getByRole('button', { name: 'Queue', exact: true }),
  ]
  const words = await box(screen.composer)
  for (const [i, one] of row.entries()) {
    const at = await box(one)
    expect(at.height, `${i}`).toBeGreaterThanOrEqual(44)
    expect(at.y + at.height / 2).toBeGreaterThan(words.y + words.height)
    expect(at.y).toBe((await box(row[0]!)).y)
    if (i > 0) expect(at.x).toBeGreaterThan((await box(row[i - 1]!)).x)
  }
  await screen.composer.fill('Then the tests')
  await expect.poll(() => bars()).toBeLessThanOrEqual(150)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await barriers(page)).toEqual([])
    await shot(screen, `composer-${colorScheme}`)
  }
  const when = page.getByRole('menu', { name: 'Send' })
  await hold(row[3]!, when)
  await tap(when.getByRole('menuitem', { name: 'Queue' }))
  await page.getByRole('region', { name: 'Queue' }).getByText('1 queued').waitFor()
  expect(at.hub.events(id).filter((e) => e.type === 'user_prompt')).toHaveLength(1)
  await tap(stop)
  await at.hub.event(id, 'turn_end')
  expect(screen.errors).toEqual([])
  await page.close()
})
