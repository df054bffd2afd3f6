// An interrupted turn: its display and the ways to continue it. ABIDE_SHOTS names a folder for screenshots.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionInfo } from '../src/wire/gen.ts'
import { barriers, ofColours } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import { Process } from './rig/process.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const tool = join(resolve(import.meta.dirname, '../../bin'), 'longsession')

/** Writes a session of 300 turns, before the hub is started. */
function longPast(hub: Hub): string {
  const args = ['--data', hub.data, '--events', '3301', '--turn', '11', '--workspace', hub.workspace]
  return execFileSync(tool, [...args, '--agent', 'steady'], { encoding: 'utf8' }).trim()
}

const card = (screen: Screen) => screen.page.getByRole('region', { name: 'Interrupted turn' })
const progress = (screen: Screen) => screen.page.getByRole('progressbar', { name: 'Sent so far' })

/** Fails if the screen has an accessibility violation in either theme; takes screenshots. */
async function look(screen: Screen, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await screen.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const rules = colorScheme === 'light' ? undefined : ofColours
    expect(await barriers(screen.page, rules), colorScheme).toEqual([])
    await shot(screen, `${name}-${colorScheme}`)
  }
}

describe('an interrupted turn', () => {
  let hub: Hub
  let mobile: Device
  let laptop: Device
  let long: string
  /** Sets the arguments with which the agent `moody` starts. */
  const comes = (...how: string[]) => writeFileSync(join(hub.home, 'comes'), how.join(' '))

  beforeAll(async () => {
    hub = new Hub({
      agents: (home) => ({
        calm: [binaries.abide, 'demo-agent', '--speed', '4'],
        steady: [binaries.abide, 'demo-agent'], // its restore lasts until a slow machine has clicked Cancel
        moody: ['sh', '-c', `exec ${binaries.abide} demo-agent $(cat ${join(home, 'comes')})`],
      }),
      config: 'resume: {segment_tokens: 1000}\n',
    })
    long = longPast(hub)
    await hub.start()
    mobile = await Device.pair(hub, { size: phone })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await mobile.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('of a session of 300 turns is replayed to a new agent session, cancelled, and finished another time', async () => {
    await hub.prompt(long, '/kill')
    await hub.event(long, 'turn_interrupted')
    const here = await mobile.watch(long, phone)
    const there = await laptop.watch(long, desktop)
    const way = card(here).getByLabel('Resume with')
    const all = way.getByRole('option', { name: /^Full history: \d+ segments, about [\d,]+ tokens$/ })
    await all.waitFor({ state: 'attached' })
    const segments = Number((await all.textContent())!.match(/(\d+) segments/)![1])
    expect(segments).toBeGreaterThan(10)
    await look(here, 'interrupted-390')
    await look(there, 'interrupted-1280')

    await way.selectOption('segmented')
    await card(here).getByRole('button', { name: 'Resume' }).click()
    for (const s of [here, there]) await progress(s).waitFor()
    for (const s of [here, there]) {
      await s.page
        .getByText(new RegExp(`^The agent is told this session: [1-9]\\d* of ${segments} segments`))
        .waitFor()
    }
    await shot(here, 'restoring-390')
    await shot(there, 'restoring-1280')
    await there.page.getByRole('button', { name: 'Cancel' }).click()

    // Both screens offer it again, and this time it is finished.
    const before = hub.lastSeq(long)
    for (const s of [here, there]) await card(s).getByText('The turn has not begun.').waitFor()
    await card(there).getByLabel('Resume with').selectOption('segmented')
    await card(there).getByRole('button', { name: 'Resume' }).press('Enter')
    for (const s of [here, there]) await progress(s).waitFor()
    const start = await hub.event(long, 'turn_start', before)
    const log = hub.events(long)
    const told = log.filter(
      (e) => e.seq > before && e.type === 'note' && e.data.method === 'abide/restore_segment',
    )
    expect(told.length).toBeGreaterThanOrEqual(segments)
    const end = log.findLast(
      (e) => e.seq < start.seq && e.type === 'note' && e.data.method === 'abide/restore',
    )
    expect(end?.type === 'note' && String(end.data.text)).toMatch(/by estimate, \d+ by its own count\.$/)
    expect(log.filter((e) => e.type === 'user_prompt').length).toBe(303)
    await until('the progress is gone', async () => (await progress(here).count()) === 0)
    await hub.api('POST', `/api/sessions/${long}/cancel`)
  })

  test('is resumed from a phone by keyboard alone', async () => {
    const session = await hub.newSession('Cut off', 'paced')
    await hub.prompt(session, '/slow 3600')
    await hub.event(session, 'agent_message')
    await hub.kill()
    await hub.start()
    const here = await mobile.watch(session, phone)
    await card(here).getByText('Interrupted: the hub restarted while it was answering').waitFor()
    await card(here).getByRole('button', { name: 'Show message' }).press('Enter')
    await card(here).getByRole('textbox', { name: 'Message to the agent' }).fill('/plan')
    await look(here, 'interrupted-prompt-390')
    await card(here).getByRole('button', { name: 'Resume' }).press('Enter')
    const settled = await hub.event(session, 'interruption_settled')
    expect(settled.data.outcome).toBe('resumed')
    await hub.event(session, 'turn_end', settled.seq)
    await card(here).waitFor({ state: 'detached' })
  })

  test('of a session that is paused from the palette goes on from its card, and one that rests by a way', async () => {
    const { session_id: session } = await hub.api<SessionInfo>('POST', '/api/sessions', { agent: 'calm' })
    await hub.prompt(session, '/slow 3600')
    await hub.event(session, 'agent_message')
    const here = await mobile.watch(session, phone)
    const there = await laptop.watch(session, desktop)
    const pause = async (screen: Screen) => {
      await screen.page.keyboard.press('Control+k')
      const palette = screen.page.getByRole('dialog', { name: 'Commands and sessions' })
      await palette.getByRole('combobox').fill('Pause')
      await palette
        .getByRole('option', { name: /^Pause/ })
        .first()
        .click()
    }
    await pause(there)
    for (const s of [here, there])
      await card(s).getByText('Interrupted: the session was paused while it was answering.').waitFor()
    await here.feed.getByText(/^Paused by/).waitFor()
    await look(here, 'paused-turn-390')
    await card(here).getByRole('button', { name: 'Resume', exact: true }).click()
    const settled = await hub.event(session, 'interruption_settled')
    expect(settled.data.outcome).toBe('resumed')
    await hub.event(session, 'agent_message', settled.seq)
    await hub.api('POST', `/api/sessions/${session}/cancel`)
    await hub.event(session, 'turn_end', settled.seq)

    await there.page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' })
    await pause(there)
    const paused = (s: Screen) => s.page.getByRole('region', { name: 'Paused session' })
    for (const s of [here, there]) await paused(s).getByText('It was resumed 1 time before.').waitFor()
    await look(here, 'paused-390')
    await look(there, 'paused-1280')
    await paused(here).getByLabel('Resume with').selectOption('local')
    await paused(here).getByRole('button', { name: 'Resume' }).click()
    for (const s of [here, there]) await paused(s).waitFor({ state: 'detached' })
    expect((await hub.event(session, 'session_resumed')).data.way).toBe('local')
    await there.feed.getByText(/^Resumed by/).waitFor()

    const resumed = await hub.event(session, 'session_resumed')
    await there.page.keyboard.press('Control+k')
    const palette = there.page.getByRole('dialog', { name: 'Commands and sessions' })
    await palette.getByRole('combobox').fill('full history')
    await palette.getByRole('option', { name: /^Resume with the full history/ }).click()
    expect((await hub.event(session, 'session_resumed', resumed.seq)).data.way).toBe('segmented')
  })

  test('whose folder is gone continues in another folder, with an account of the session', async () => {
    const gone = join(hub.workspace, 'gone')
    const other = join(hub.workspace, 'other')
    for (const folder of [gone, other]) mkdirSync(folder)
    const { session_id: session } = await hub.api<SessionInfo>('POST', '/api/sessions', {
      agent: 'demo',
      workspace: gone,
    })
    await hub.prompt(session, '/kill')
    await hub.event(session, 'turn_interrupted')
    rmSync(gone, { recursive: true })
    const here = await mobile.watch(session, phone)
    await card(here).getByText('Its folder is gone').waitFor()
    await look(here, 'interrupted-gone-390')
    expect(await here.page.getByRole('button', { name: 'Restart' }).count(), 'which would not help').toBe(0)
    // The agent may have been restarted before its folder was removed.
    const said = await here.page.getByText('could not be started: its folder').count()
    expect(said, 'said once').toBeLessThan(2)
    await card(here).getByRole('textbox', { name: 'Continue in another folder' }).fill(other)
    await card(here).getByRole('button', { name: 'Continue there' }).press('Enter')
    await here.feed.getByText('Summary for the agent').click()
    await here.feed.getByText('The work continues in another folder').waitFor()
    expect((await hub.event(session, 'interruption_settled')).data.outcome).toBe('dismissed')
  })

  /** A session of `moody` that a crash of the hub cut off, and whose agent comes back otherwise. */
  async function cutOff(...back: string[]): Promise<string> {
    comes('--mode-option --grouped')
    const { session_id: session } = await hub.api<SessionInfo>('POST', '/api/sessions', { agent: 'moody' })
    await hub.prompt(session, '/slow 3600')
    await hub.event(session, 'agent_message')
    await hub.kill()
    comes('--mode-option --grouped', ...back)
    await hub.start()
    await hub.event(session, 'turn_interrupted')
    return session
  }

  test('whose agent forgets its settings gets them back, and one decision resumes it', async () => {
    const session = await cutOff('--mode auto', '--model hasty', '--verbose')
    const here = await mobile.watch(session, phone)
    const before = hub.lastSeq(session)
    await card(here).getByRole('button', { name: 'Resume', exact: true }).click()
    await hub.event(session, 'agent_message', before)
    await here.feed
      .getByText('Settings put back: model steady (it was hasty), mode ask (it was auto)')
      .waitFor()
    await card(here).waitFor({ state: 'detached' })
    await here.page.getByRole('button', { name: 'Details' }).click()
    const details = here.page.getByRole('dialog', { name: 'Details' })
    const model = details.getByRole('combobox', { name: 'Model' })
    await expect.poll(() => model.inputValue()).toBe('steady')
    await model.locator('optgroup[label=Careful] option[value=steady]').waitFor({ state: 'attached' })
    await model.locator('optgroup[label=Quick] option[value=hasty]').waitFor({ state: 'attached' })
    await details.getByText('Takes its time').waitFor()
    await here.page.keyboard.press('Escape')
    await look(here, 'put-back-390')
    await hub.api('POST', `/api/sessions/${session}/cancel`)
  })

  const differs = {
    mode: { flag: '--mode auto', row: 'Mode: auto, before ask — may allow more' },
    model: { flag: '--model hasty', row: 'Model: hasty, before steady' },
    option: { flag: '--verbose', row: 'verbose: true, before false — may allow more' },
  }
  const all = Object.keys(differs) as (keyof typeof differs)[]
  test('whose agent does not let the model be put back goes on with another, and says so', async () => {
    const session = await cutOff('--locked', differs.model.flag)
    const here = await mobile.watch(session, phone)
    const before = hub.lastSeq(session)
    await card(here).getByRole('button', { name: 'Resume', exact: true }).click()
    await hub.event(session, 'agent_message', before)
    await here.feed.getByText('other settings: model hasty (recorded: steady)').waitFor()
    await card(here).waitFor({ state: 'detached' })
    await hub.api('POST', `/api/sessions/${session}/cancel`)
  })

  /** Those that may allow more than the person's Resume did. */
  const combinations = Array.from({ length: 7 }, (_, n) =>
    all.filter((_, bit) => (n + 1) & (1 << bit)),
  ).filter((which) => which.some((name) => name !== 'model'))
  for (const which of combinations) {
    test(`whose agent does not let the ${which.join(', ')} be put back waits for a choice`, async () => {
      const session = await cutOff('--locked', ...which.map((name) => differs[name].flag))
      const here = await mobile.watch(session, phone)
      await card(here).getByRole('button', { name: 'Resume', exact: true }).click()
      await card(here).getByText('Waiting for your choice').waitFor()
      await card(here).getByRole('button', { name: 'Resume with these' }).waitFor()
      const rows = async () => (await card(here).getByRole('listitem').allTextContents()).toSorted()
      await expect
        .poll(rows, { message: 'one row for each difference' })
        .toEqual(which.map((name) => differs[name].row).toSorted())
      expect(await here.feed.getByText(/Force-stopped|paused/).count()).toBe(0)
      await here.feed.getByText(/^Waiting for your choice: the turn has not begun\./).waitFor()
      await shot(here, `choice-${which.join('-')}-390`)
      if (which.length === 3) {
        const there = await laptop.watch(session, desktop)
        await card(there).getByText('Waiting for your choice').waitFor()
        await look(here, 'choice-390')
        await look(there, 'choice-1280')
      }
      // The agent refuses again: it is the same choice, asked once more.
      const asked = hub.lastSeq(session)
      await card(here).getByRole('button', { name: 'Resume with the earlier settings' }).press('Enter')
      await hub.event(session, 'turn_interrupted', asked) // until then the card is the first choice's
      await card(here)
        .getByRole('button', { name: 'Resume with these' })
        .and(here.page.locator(':enabled'))
        .waitFor()
      await expect.poll(rows).toEqual(which.map((name) => differs[name].row).toSorted())
      const before = hub.lastSeq(session)
      // The card may still be that of the first choice, whose answer is refused.
      await until('the agent goes on', async () => {
        const these = card(here).getByRole('button', { name: 'Resume with these' })
        await these.press('Enter', { timeout: 1_000 }).catch(() => undefined)
        return hub.events(session).some((e) => e.seq > before && e.type === 'agent_message')
      })
      await card(here).waitFor({ state: 'detached' })
      await hub.api('POST', `/api/sessions/${session}/cancel`)
    })
  }

  test('is dismissed, and its lost question is shown', async () => {
    const session = await hub.newSession('A question was lost')
    await hub.prompt(session, '/ask')
    await hub.event(session, 'permission_request')
    await hub.kill()
    await hub.start()
    const there = await laptop.watch(session, desktop)
    await card(there).getByText('It was waiting for your answer to “').waitFor()
    await there.page
      .locator('nav, aside, main')
      .getByText('Interrupted: the hub restarted.')
      .first()
      .waitFor()
    expect(await there.feed.locator('.failed, .bad').count(), 'one cause is not told as failures').toBe(0)
    await there.page.locator('[data-entry]').getByRole('img', { name: 'Interrupted' }).first().waitFor()
    await card(there).getByRole('button', { name: 'Resume', exact: true }).waitFor()
    await look(there, 'interrupted-question-1280')
    await card(there).getByRole('button', { name: 'Dismiss' }).press('Enter')
    expect((await hub.event(session, 'interruption_settled')).data.outcome).toBe('dismissed')
    await card(there).waitFor({ state: 'detached' })
  })
})

const opencode = join(homedir(), '.cache/abide-agents/opencode-ai@1.18.33/node_modules/.bin/opencode')
const player = resolve(import.meta.dirname, '../../internal/blackbox/testdata/fakellm.mjs')

// The soak of internal/blackbox, which runs earlier, installs the agent.
describe.runIf(existsSync(opencode))('a real agent', () => {
  let model: Process
  let hub: Hub
  let mobile: Device

  beforeAll(async () => {
    model = new Process('node', [player, '--delay', '2'], {})
    const baseURL = `${(await model.line()).split('listening ')[1]!.trim()}/v1`
    const config = {
      autoupdate: false,
      model: 'fake/fake-model',
      permission: { edit: 'allow', bash: 'ask' },
      provider: {
        fake: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL, apiKey: 'x' },
          models: { 'fake-model': { name: 'Fake model' } },
        },
      },
    }
    hub = await Hub.start({
      agents: (home) => ({
        opencode: [
          'env',
          `HOME=${home}`,
          `OPENCODE_CONFIG_CONTENT=${JSON.stringify(config)}`,
          opencode,
          'acp',
        ],
      }),
    })
    mobile = await Device.pair(hub, { size: phone })
  })
  afterAll(async () => {
    await mobile.stop()
    await hub.stop()
    await model.kill('SIGKILL')
  })

  test('whose command was interrupted by a kill of the hub continues from a phone, and writes nothing twice', async () => {
    const [file, half] = ['written.txt', 'half.txt'].map((name) => join(hub.workspace, name)) as [
      string,
      string,
    ]
    const { session_id: session } = await hub.api<SessionInfo>('POST', '/api/sessions', {
      agent: 'opencode',
    })
    const here = await mobile.watch(session, phone)
    await here.prompt(`[[write:${file}|once]] [[shell:echo half > ${half}; sleep 600]]`)
    await here.page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await until('half of the command', () => Promise.resolve(existsSync(half)))
    const written = statSync(file).mtimeMs
    await hub.kill()
    await hub.start()
    await card(here).getByText('Interrupted: the hub restarted while a tool was running').waitFor()
    await card(here).getByRole('button', { name: 'Show message' }).click()
    const told = card(here).getByRole('textbox', { name: 'Message to the agent' })
    await expect.poll(() => told.inputValue()).toContain('written.txt')
    await told.fill(`${await told.inputValue()}\n[[say:going on]]`)
    await shot(here, 'interrupted-opencode-390')
    await card(here).getByRole('button', { name: 'Resume' }).click()
    const settled = await hub.event(session, 'interruption_settled')
    expect((await hub.event(session, 'turn_end', settled.seq)).data.stop_reason).toBe('end_turn')
    await here.feed.getByText('going on', { exact: true }).waitFor()
    expect(statSync(file).mtimeMs, 'written once').toBe(written)
  })
})
