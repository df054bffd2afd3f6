import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { hold } from './rig/touch.ts'
import { until } from './rig/until.ts'

describe('a person decides from a phone', () => {
  let hub: Hub
  let mobile: Device
  let laptop: Device

  beforeAll(async () => {
    hub = await Hub.start()
    mobile = await Device.pair(hub, { size: phone })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const menu = async (screen: Screen, item: string) => {
    await screen.page.getByRole('button', { name: 'More', exact: true }).click()
    if (item === 'Agent…') await screen.page.getByRole('menuitem', { name: 'All commands…' }).click()
    await screen.page.getByRole(item === 'Agent…' ? 'option' : 'menuitem', { name: item }).click()
  }

  test('picked and pasted files are sent with the prompt, shown on another screen, and the same on the hub, byte for byte', async () => {
    const session = await hub.newSession('Files')
    const here = await mobile.watch(session, phone)
    const there = await laptop.watch(session, desktop)
    const picked = Buffer.from('picked \u2713\n')
    await here.page
      .locator('[data-picker]')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: picked })
    await here.composer.evaluate((area) => {
      const data = new DataTransfer()
      data.items.add(new File(['pasted bytes'], 'paste.txt', { type: 'text/plain' }))
      area.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
      )
    })
    await here.page.locator('[data-file="paste.txt"]').waitFor()
    await shot(here, 'files-390')
    await here.prompt('/plan')
    for (const s of [here, there])
      for (const name of ['notes.txt', 'paste.txt']) await s.feed.getByText(name).first().waitFor()
    const prompt = await hub.event(session, 'user_prompt')
    expect(prompt.data.attachments?.map((a) => a.sha256)).toEqual(
      [picked, Buffer.from('pasted bytes')].map((b) => createHash('sha256').update(b).digest('hex')),
    )
    const stored = await Promise.all(
      prompt.data.attachments!.map(async (a) => {
        const url = `${hub.origin}/api/sessions/${session}/blobs/${a.sha256}`
        const response = await fetch(url, { headers: { authorization: `Bearer ${hub.token}` } })
        return Buffer.from(await response.arrayBuffer()).toString()
      }),
    )
    expect(stored).toEqual([picked.toString(), 'pasted bytes'])
    await hub.idle(session)
    await here.page.close()
    await there.page.close()
  })

  test('a remembered answer answers the next request, and a revoked one does not', async () => {
    const session = await hub.newSession('Remembers')
    const screen = await mobile.watch(session, phone)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await expect.poll(() => screen.permission.locator('[data-remember]').inputValue()).toBe('')
    await screen.permission.locator('[data-remember]').selectOption('session')
    await shot(screen, 'remember-390')
    await screen.answer('Allow in this session')
    const end = await hub.event(session, 'turn_end')
    await screen.reaches(session, end.seq)
    await screen.prompt('/ask')
    const ruled = await hub.event(session, 'permission_outcome', end.seq)
    expect(ruled.data).toMatchObject({ outcome: 'selected', rule: expect.stringMatching(/./) })
    const second = await hub.event(session, 'turn_end', ruled.seq)
    await screen.reaches(session, second.seq)
    await screen.feed.getByText(/Allow once — by a rule .+ made/).waitFor()
    await expect.poll(() => screen.permission.count()).toBe(0)
    await menu(screen, 'Rules…')
    const rules = screen.page.getByRole('dialog', { name: 'Rules' })
    await rules.locator('[data-rule]').waitFor()
    await shot(screen, 'rules-390')
    await rules.getByRole('button', { name: /^Revoke/ }).click()
    await rules.locator('[data-rule]').waitFor({ state: 'detached' })
    expect(await hub.api('GET', `/api/sessions/${session}/rules`)).toEqual({ rules: [] })
    await rules.getByRole('button', { name: 'Close' }).click()
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await expect.poll(() => screen.permission.locator('[data-remember]').inputValue()).toBe('')
    await screen.answer('Allow once')
    await hub.event(session, 'turn_end', second.seq)
    await screen.page.close()
  })

  test('an agent that hangs is restarted, and answers the next prompt', async () => {
    const session = await hub.newSession('Hangs')
    const screen = await mobile.watch(session, phone)
    await screen.prompt('/hang')
    const first = await hub.event(session, 'agent_started')
    await until('the turn', async () => (await screen.facts()).turn === 'prompting')
    await menu(screen, 'Agent…')
    const panel = screen.page.getByRole('dialog', { name: 'Agent' })
    await panel.locator('[data-agent-status=ready]').waitFor()
    await shot(screen, 'agent-390')
    await panel.getByRole('button', { name: 'Interrupt the turn and restart' }).click()
    const end = await hub.event(session, 'turn_end')
    expect(end.data.stop_reason).toBe('interrupted')
    await hub.event(session, 'agent_started', first.seq)
    await panel.getByRole('button', { name: 'Restart', exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    await screen.prompt('/plan')
    const answered = await hub.event(session, 'turn_end', end.seq)
    expect(answered.data.stop_reason).toBe('end_turn')
    await screen.page.close()
  })

  test('a prompt for later waits in the hub’s queue with its time, and does not run', async () => {
    const session = await hub.newSession('Later')
    const screen = await mobile.watch(session, phone)
    const before = Date.now()
    await screen.composer.fill('Water the plants')
    const when = screen.page.getByRole('menu', { name: 'Send' })
    await hold(screen.page.getByRole('button', { name: 'Send', exact: true }), when)
    await expect
      .poll(() => when.getByRole('menuitem').allInnerTexts())
      .toEqual(['Send now', 'Send later…', 'Run in background…'])
    await shot(screen, 'send-menu-390')
    await when.getByRole('menuitem', { name: 'Send later…' }).click()
    const dialog = screen.page.getByRole('dialog', { name: 'Send later' })
    await dialog.waitFor()
    await shot(screen, 'schedule-390')
    await dialog.getByRole('button', { name: 'In 10 min' }).click()
    const queue = screen.page.getByRole('region', { name: 'Queue' })
    await queue.getByRole('button', { name: /1 queued/ }).click()
    const due = await queue.locator('time').getAttribute('datetime')
    expect(Date.parse(due!) - before).toBeGreaterThanOrEqual(10 * 60_000)
    expect(Date.parse(due!) - Date.now()).toBeLessThanOrEqual(10 * 60_000)
    await shot(screen, 'scheduled-390')
    await expect.poll(() => screen.composer.inputValue()).toBe('')
    expect(hub.events(session).filter((e) => e.type === 'user_prompt')).toEqual([])
    const wide = await laptop.watch(session, desktop)
    await wide.page.getByRole('region', { name: 'Queue' }).getByText('1 queued').waitFor()
    await shot(wide, 'scheduled-1280')
    await menu(wide, 'Rules…')
    await wide.page.getByRole('button', { name: 'Add rule: In this session' }).click()
    await wide.page.locator('[data-rule]').getByText('All reads').waitFor()
    await shot(wide, 'rules-1280')
  })
})
