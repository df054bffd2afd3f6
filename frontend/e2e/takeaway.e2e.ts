import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import { watch } from './rig/inpage.ts'
import { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

/** The recorded sessions of real agents; claude.jsonl is one of Claude Agent. */
const traces = resolve(import.meta.dirname, '../../session/acp/testdata/traces')
const hostile = join(import.meta.dirname, 'rig/hostile')

function recording(home: string): string {
  const prompt = { type: 'user_prompt', data: { prompt_id: 'p', text: 'Go on.' } }
  const said = readFileSync(join(traces, 'claude.jsonl'), 'utf8').trim().split('\n')
  const at = said.findIndex((line) => /"type":"agent_(thought|message)"/.test(line))
  const file = join(home, 'recording.jsonl')
  writeFileSync(file, [...said.slice(0, at), JSON.stringify(prompt), ...said.slice(at)].join('\n') + '\n')
  return file
}

describe('a session', () => {
  const hub = new Hub({
    agents: (home) => ({
      claude: [binaries.abide, 'demo-agent', '--speed', '0', '--replay', recording(home)],
      hostile: [process.execPath, join(hostile, 'agent.mjs')],
    }),
  })
  const other = new Hub()
  let device: Device
  let second: Device
  const abide = (of: Hub, ...args: string[]) =>
    execFileSync(binaries.abide, [...args, '--data', of.data], { encoding: 'utf8' })

  beforeAll(async () => {
    await Promise.all([hub.start(), other.start()])
    device = await Device.pair(hub)
    second = await Device.pair(hub, { size: phone })
  })
  afterAll(async () => {
    await device.stop()
    await second.stop()
    expect(await hub.stop()).toBe(0)
    expect(await other.stop()).toBe(0)
  })

  /** Opens an exported page from the disk, without a network. */
  async function fromDisk(file: string): Promise<Screen> {
    const page = await device.browser.window(desktop)
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Network.enable')
    const nothing = { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 }
    await cdp.send('Network.emulateNetworkConditions', nothing)
    await page.addInitScript(watch)
    const screen = new Screen(page)
    await page.goto(pathToFileURL(file).href)
    return screen
  }

  const place = (screen: Screen, of: string) =>
    screen.page
      .locator(of)
      .getAttribute('data-play')
      .then((seq) => Number(seq))

  /** Sends a prompt and answers the agent's questions until its turn has ended. */
  async function converse(session: string): Promise<void> {
    await hub.prompt(session, 'Show me')
    const answered = new Set<string>()
    await until('the turn to end', async () => {
      const events = hub.events(session)
      for (const e of events) {
        if (e.type !== 'permission_request' || answered.has(e.data.permission_id)) continue
        answered.add(e.data.permission_id)
        const option_id = e.data.options.find((o) => o.kind === 'allow_once')!.option_id
        await hub.api('POST', `/api/sessions/${session}/permissions/${e.data.permission_id}`, { option_id })
      }
      return events.some((e) => e.type === 'turn_end')
    })
  }

  // Proof 3, as one story.
  test('is played, commented on, forked, opened from the disk, and the same in another hub', async () => {
    const session = await hub.newSession('Recorded', 'claude')
    await converse(session)
    const last = hub.lastSeq(session)

    const film = await device.open(`/s/${session}/play?seq=1`, desktop)
    await film.page.locator('[data-play="1"][data-busy=false]').waitFor()
    await film.page.getByLabel('Speed').selectOption('16')
    await film.page.keyboard.press('Space')
    await expect.poll(() => place(film, '[data-play]')).toBe(last)
    await film.page.close()

    const screen = await device.open(`/s/${session}/review`, desktop)
    const touched = await second.open(`/s/${session}/review`, phone)
    for (const [on, text] of [
      [screen, 'Why this file?'],
      [touched, 'Said on a phone.'],
    ] as const) {
      await on.page.getByRole('tab', { name: 'Comments' }).click()
      await on.page.getByLabel(/^Comment on /).fill(text)
      await on.page.getByRole('button', { name: 'Add comment' }).click()
    }
    for (const on of [screen, touched])
      for (const text of ['Why this file?', 'Said on a phone.']) await on.page.getByText(text).waitFor()

    await screen.page.getByRole('button', { name: 'Export…' }).click()
    await screen.page.getByRole('checkbox', { name: /Passwords/ }).uncheck()
    await screen.page.getByRole('checkbox', { name: /Paths/ }).uncheck()
    const folder = await device.browser.downloads()
    await screen.page.getByRole('button', { name: 'Export', exact: true }).click()
    const file = join(folder, 'recorded.html')
    await until('the download', () => {
      try {
        return readFileSync(file, 'utf8').trimEnd().endsWith('</html>')
      } catch {
        return false
      }
    })
    await screen.page.getByRole('button', { name: /^Fork from event/ }).click()
    await expect.poll(() => screen.page.url()).not.toContain(session)
    const fork = new URL(screen.page.url()).pathname.split('/').at(-1)!
    expect((await hub.session(fork)).forked_from).toEqual({ session_id: session, seq: last })
    expect((await hub.session(session)).forks).toEqual([{ session_id: fork, seq: last }])
    expect(hub.lastSeq(session), 'the original is untouched').toBe(last)

    const page = await fromDisk(file)
    const asked = hub.events(session).find((e) => e.type === 'user_prompt')!
    await page.page.locator(`html[data-seq="${asked.seq}"]`).waitFor()
    await expect.poll(() => page.page.getByRole('heading', { level: 1 }).textContent()).toBe('Recorded')
    await expect
      .poll(() => page.page.locator('#about').textContent())
      .toMatch(/^claude · .*20\d\d.* · 1 turn · /)
    await expect.poll(() => page.page.locator('#chapters').textContent()).toMatch(/Go on\.?|Show me/)
    await expect.poll(() => page.page.locator('#chapters').textContent()).toContain('Turn 1 · Done')
    await expect.poll(() => page.page.locator('#marks .prompt').getAttribute('d')).not.toBe('')
    await expect
      .poll(() => page.page.locator('#feed .diff .l.add, #feed .prose code').count())
      .toBeGreaterThan(0)
    for (const [size, kind] of [
      [desktop, 'wide'],
      [phone, 'phone'],
    ] as const)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.page.emulateMedia({ colorScheme })
        await page.page.setViewportSize(size)
        await shot(page, `page-${kind}-${colorScheme}`)
        expect(await barriers(page.page)).toEqual([])
        const across = await page.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        expect(across, 'nothing is wider than the screen').toBeLessThanOrEqual(0)
      }
    await page.page.setViewportSize(desktop)
    await page.page.keyboard.press('0')
    await page.page.locator('html[data-seq="0"]').waitFor()
    await page.page.getByLabel('Speed').selectOption('16')
    await page.page.getByRole('button', { name: 'Play' }).click()
    await page.page.locator(`html[data-seq="${last}"]`).waitFor()
    // Markdown as the app shows it.
    const end = page.page.locator('#feed .message').last()
    await expect.poll(() => end.locator('li strong, li em, li a').count()).toBeGreaterThan(0)
    await expect.poll(() => end.locator('pre code').first().textContent()).toContain('hello from')
    await expect
      .poll(() => page.page.locator('#feed .message').allTextContents())
      .not.toContainEqual(expect.stringMatching(/\*\*|```/))
    expect((await page.watched()).violations).toEqual([])
    expect(page.requests.filter((url) => !url.startsWith('file:'))).toEqual([])
    expect(await barriers(page.page)).toEqual([])

    const zip = join(hub.home, 'session.zip')
    abide(hub, 'export', session, '--format', 'zip', '-o', zip)
    expect(abide(other, 'import', zip).trim()).toBe(session)
    expect(abide(other, 'import', zip).trim()).toBe(session)
    expect(other.events(session)).toEqual(hub.events(session))
    const [here, there] = await Promise.all([hub.session(session), other.session(session)])
    expect(there).toMatchObject({ imported: true, epoch: here.epoch, min_seq: here.min_seq, max_seq: last })
    const comments = (of: Hub) => of.api<{ comments: unknown[] }>('GET', `/api/sessions/${session}/comments`)
    expect((await comments(other)).comments).toEqual((await comments(hub)).comments)
    expect((await comments(other)).comments).toHaveLength(2)
    await expect(other.prompt(session, 'more')).rejects.toThrow('409')
    expect(screen.errors.concat(touched.errors, page.errors)).toEqual([])
    for (const on of [screen, touched, page]) await on.page.close()
  })

  // Proof 5.
  test('runs nothing of a hostile agent when it is opened from the disk', async () => {
    const session = await hub.newSession('</title><script>rig.ran.push("name")</script>', 'hostile')
    const corpus = JSON.parse(readFileSync(join(hostile, 'corpus.json'), 'utf8')) as string[]
    await hub.prompt(session, corpus.join('\n'))
    await hub.event(session, 'permission_request')
    await hub.api('POST', `/api/sessions/${session}/cancel`)
    await hub.event(session, 'turn_end')
    const file = join(hub.home, 'hostile.html')
    abide(hub, 'export', session, '--format', 'html', '-o', file)
    const page = await fromDisk(file)
    const last = hub.lastSeq(session)
    await page.page.locator('#feed .prompt').waitFor() // all of it is shown, to be read
    await page.page.keyboard.press('End')
    await page.page.locator(`html[data-seq="${last}"]`).waitFor()
    for (const tenth of ['0', '3', '6', '9']) await page.page.keyboard.press(tenth)
    await page.page.getByRole('slider').fill('1')
    await page.page.getByRole('slider').fill((await page.page.getByRole('slider').getAttribute('max')) ?? '')
    await page.page.locator(`html[data-seq="${last}"]`).waitFor()
    const { ran, violations } = await page.watched()
    expect(ran, 'scripts that ran').toEqual([])
    expect(violations, 'what the policy had to stop').toEqual([])
    expect(page.requests.filter((url) => !url.startsWith('file:'))).toEqual([])
    await expect
      .poll(() => page.page.locator('script').count(), { message: 'the events and the player' })
      .toBe(2)
    expect(page.errors).toEqual([])
    await page.page.close()
  })
})
