// Going back to before a prompt, and forward again, by touch on a phone and on a desktop.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { agents } from './rig/told.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

test.each([
  { on: 'a phone', size: phone },
  { on: 'a desktop', size: desktop },
])('a prompt on $on goes back and forward', async ({ on, size }) => {
  const hub = await Hub.start({ config: 'undo_wait: 1m\n' })
  const device = await Device.pair(hub, { size })
  const file = join(hub.workspace, 'notes.txt')
  writeFileSync(file, 'before')
  const id = await hub.newSession('Back and forth')
  const screen = await device.watch(id, size)
  await hub.turn(id, '/plan')
  await hub.api('GET', `/api/sessions/${id}/undo`) // once the files at the turn's end are kept
  writeFileSync(file, 'mine')
  writeFileSync(join(hub.workspace, 'new.txt'), 'new')

  const { page } = screen
  const dialog = page.getByRole('dialog')
  const open = async () => {
    await page.getByRole('button', { name: 'Prompt actions' }).first().click()
    await page.getByRole('menuitem', { name: 'Go back to before this…' }).click()
  }
  await open()
  await dialog.getByText('notes.txt').waitFor()
  await expect.poll(() => dialog.getByText('edited since').count()).toBe(2)
  expect(await barriers(page)).toEqual([])
  await shot(screen, `undo-${on}`)
  await dialog.getByRole('button', { name: 'Overwrite and go back' }).click()
  await dialog.getByText('2 files changed.').waitFor()
  expect(readFileSync(file, 'utf8')).toBe('before')
  expect(existsSync(join(hub.workspace, 'new.txt'))).toBe(false)
  await shot(screen, `undo-done-${on}`)
  await dialog.getByRole('button', { name: 'Redo' }).click()
  await until('the files forward again', async () => readFileSync(file, 'utf8') === 'mine')
  await dialog.getByText('You went forward again.').waitFor()
  await page.keyboard.press('Escape')
  await page.getByText('went back to before the prompt of turn 1').first().waitFor()
  await device.stop()
  expect(await hub.stop()).toBe(0)
})

test.each([
  {
    states: 'kept',
    config: 'undo_wait: 1m\n',
    says: /Files that differ after the turn/,
    listed: 'secret.txt',
  },
  { states: 'not kept', config: 'undo_wait: 0s\n', says: /were not kept/, listed: 'None.' },
])('Review tells a turn’s files, states $states', async ({ states, config, says, listed }) => {
  const hub = await Hub.start({ config, agents })
  const device = await Device.pair(hub, { size: phone })
  const id = await hub.newSession('Silent', 'told')
  const ask = {
    toolCall: { toolCallId: 'w', title: 'Look around', kind: 'read', status: 'pending' },
    options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
  }
  await hub.prompt(id, JSON.stringify([{ ask }]))
  const { permission_id, options } = (await hub.event(id, 'permission_request')).data
  writeFileSync(join(hub.workspace, 'secret.txt'), 'the agent does not tell of it\n')
  const { option_id } = options[0]!
  await hub.api('POST', `/api/sessions/${id}/permissions/${permission_id}`, { option_id })
  await hub.event(id, 'turn_end')
  await hub.api('GET', `/api/sessions/${id}/undo`) // once the files at the turn's end are kept
  const screen = await device.open(`/s/${id}/review`, phone)
  const { page } = screen
  await tap(page.locator('summary', { hasText: says }))
  await page.getByRole('listitem').filter({ hasText: listed }).last().waitFor()
  await shot(screen, `review-files-${states.replace(' ', '-')}`)
  expect(await barriers(page)).toEqual([])
  expect(screen.errors).toEqual([])
  await device.stop()
  expect(await hub.stop()).toBe(0)
})
