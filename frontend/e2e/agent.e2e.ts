import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { join } from 'node:path'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

describe('an agent, controlled from a phone,', () => {
  let hub: Hub
  let mobile: Device
  let laptop: Device

  beforeAll(async () => {
    hub = await Hub.start({
      agents: (home) => ({
        locked: [binaries.abide, 'demo-agent', '--speed', '0', '--login', '--state', join(home, 'locked')],
        barred: [binaries.abide, 'demo-agent', '--speed', '0', '--login', '--state', join(home, 'barred')],
      }),
    })
    mobile = await Device.pair(hub, { size: phone })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const panelOf = (screen: Screen) => screen.page.getByRole('dialog', { name: 'Agent' })

  test('shows that it needs a login, why a login was refused, and works after a successful one', async () => {
    const session = await hub.newSession('Locked', 'locked')
    const screen = await mobile.watch(session, phone)
    await screen.prompt('/plan')
    await screen.page.getByRole('button', { name: 'Log in…' }).click()
    const panel = panelOf(screen)
    await panel.locator('[data-agent-status=failed]').waitFor()
    const way = (name: string) => panel.getByRole('region', { name, exact: true })
    await way('Log in with a terminal').getByText('In a terminal of your own').click()
    await way('Log in with a terminal').locator('pre').getByText('demo-agent').waitFor()
    await shot(screen, 'login-390')
    await way('Log in and be refused').getByRole('button', { name: 'Log in', exact: true }).click()
    await panel.locator('[data-problem]').waitFor()
    await shot(screen, 'login-refused-390')
    await panel.getByRole('button', { name: 'Dismiss' }).click()
    await panel.locator('[data-agent-status=failed]').waitFor()
    await way('Log in here').getByRole('button', { name: 'Log in', exact: true }).click()
    await panel.locator('[data-agent-status=ready]').waitFor()
    await shot(screen, 'logged-in-390')
    await panel.getByRole('button', { name: 'Close' }).click()
    const before = hub.lastSeq(session)
    await screen.prompt('/plan')
    expect((await hub.event(session, 'turn_end', before)).data.stop_reason).toBe('end_turn')
    await screen.feed.getByText('The plan is done.').first().waitFor()
    await screen.page.close()
  })

  test('is logged in from its session, in a terminal of the hub', async () => {
    const session = await hub.newSession('Locked, too', 'barred')
    const screen = await mobile.watch(session, phone)
    await screen.prompt('/plan')
    await screen.page.getByRole('button', { name: 'Log in…' }).click()
    const panel = panelOf(screen)
    const terminal = panel.getByRole('region', { name: 'Log in with a terminal', exact: true })
    await tap(terminal.getByRole('button', { name: 'Log in here' }))
    const login = panel.getByRole('group', { name: 'Login' })
    await login.getByText('Code:').waitFor()
    await login.getByRole('link', { name: 'https://example.com/device' }).waitFor()
    await login.getByLabel('Answer the login').fill('42')
    await shot(screen, 'login-terminal-390')
    expect(await barriers(screen.page)).toEqual([])
    await tap(login.getByRole('button', { name: 'Send' }))
    await panel.locator('[data-agent-status=ready]').waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    const before = hub.lastSeq(session)
    await screen.prompt('/plan')
    expect((await hub.event(session, 'turn_end', before)).data.stop_reason).toBe('end_turn')
    await screen.page.close()
  })

  test('gets its mode from the phone and its options from the desktop, and both screens show both', async () => {
    const session = await hub.newSession('Steered')
    const here = await mobile.watch(session, phone)
    await here.prompt('/plan')
    const end = await hub.event(session, 'turn_end')
    const there = await laptop.watch(session, desktop)
    for (const s of [here, there]) await s.reaches(session, end.seq)

    await here.page.getByRole('button', { name: 'More', exact: true }).click()
    await here.page.getByRole('menuitem', { name: 'All commands…' }).click()
    await here.page.getByRole('option', { name: 'Mode: Auto' }).click()
    expect((await hub.event(session, 'mode', end.seq)).data.mode_id).toBe('auto')
    const details = there.page.getByRole('complementary', { name: 'Details' })
    await until('the mode on the other screen', async () => {
      return (await details.getByRole('combobox', { name: 'Mode', exact: true }).inputValue()) === 'auto'
    })

    await details.getByRole('combobox', { name: 'Model' }).selectOption({ label: 'Hasty' })
    const model = await hub.event(session, 'config', end.seq)
    await details.getByLabel('Verbose').check()
    await hub.event(session, 'config', model.seq)
    await here.page.getByRole('button', { name: 'Details' }).click()
    const sheet = here.page.getByRole('dialog', { name: 'Details' })
    await until('the options on the phone', async () => {
      return (await sheet.getByRole('combobox', { name: 'Model' }).inputValue()) === 'hasty'
    })
    await until('verbose on the phone', () => sheet.getByLabel('Verbose').isChecked())
    await here.page.keyboard.press('Escape')

    const chips = (of: Screen) => of.page.getByRole('group', { name: 'Mode and options' })
    const before = hub.lastSeq(session)
    // On a phone one chip names them all, and opens them.
    const chip = here.page.getByRole('button', { name: 'Auto · Hasty · Verbose', exact: true })
    await chip.click()
    const options = here.page.getByRole('dialog', { name: 'Mode and options' })
    expect(await barriers(here.page)).toEqual([])
    await shot(here, 'options-sheet-390')
    await options.getByRole('combobox', { name: 'Mode', exact: true }).selectOption('ask')
    expect((await hub.event(session, 'mode', before)).data.mode_id).toBe('ask')
    await until('the mode by its chip on the desktop', async () => {
      return (await chips(there).getByRole('combobox', { name: 'Mode', exact: true }).inputValue()) === 'ask'
    })
    // On a desktop a key chooses: the first letter of an option.
    const modelChip = chips(there).getByRole('combobox', { name: 'Model', exact: true })
    await modelChip.focus()
    await there.page.keyboard.press('s')
    await until('the model on the phone', async () => {
      return (await options.getByRole('combobox', { name: 'Model', exact: true }).inputValue()) === 'steady'
    })
    await here.page.keyboard.press('Escape')
    const verbose = chips(there).getByRole('button', { name: 'Verbose', pressed: true })
    await verbose.focus()
    await there.page.keyboard.press('Space')
    await here.page.getByRole('button', { name: 'Ask · Steady', exact: true }).waitFor()
    await shot(here, 'options-390')
    await shot(there, 'options-1280')
    await here.page.close()
    await there.page.close()
  })

  test('offers its commands while one is typed, and gets the completed one', async () => {
    const session = await hub.newSession('Commands')
    const screen = await mobile.watch(session, phone)
    await screen.prompt('/plan') // the agent sends its commands once it runs
    await hub.event(session, 'commands')
    const end = await hub.event(session, 'turn_end')
    await screen.reaches(session, end.seq)
    await screen.composer.pressSequentially('/')
    const offered = screen.page.getByRole('listbox', { name: 'Completions' }).getByRole('option')
    await offered.first().waitFor()
    await shot(screen, 'commands-390')
    await screen.composer.pressSequentially('pl')
    await until('one command', async () => (await offered.count()) === 1)
    await screen.composer.press('Tab')
    await expect.poll(() => screen.composer.inputValue()).toBe('/plan')
    await until('the list gone', async () => (await offered.count()) === 0)
    await screen.composer.press('Control+Enter')
    const prompt = await hub.event(session, 'user_prompt', end.seq)
    expect(prompt.data.text).toBe('/plan')
    await hub.event(session, 'turn_end', prompt.seq)
    await screen.page.close()
  })
})
