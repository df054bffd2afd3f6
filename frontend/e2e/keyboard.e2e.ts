import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { writeFolder } from './rig/newsession.ts'
import { expectWhole } from './rig/oracle.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('with the keyboard only, a person', () => {
  let hub: Hub
  let laptop: Device
  let screen: Screen
  let session: string

  beforeAll(async () => {
    hub = await Hub.start()
    laptop = await Device.pair(hub)
    for (const name of ['Red', 'Green', 'Blue', 'Cyan', 'Olive', 'Plum']) await hub.newSession(name)
    screen = await laptop.open('/')
    await screen.page.locator('html[data-link=open]').waitFor()
    await screen.page.evaluate(() => addEventListener('pointerdown', () => window.rig.ran.push('a pointer')))
  })
  afterEach(async () => {
    expect((await screen.watched()).ran, 'what was done without keys').toEqual([])
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const press = async (...keys: string[]) => {
    for (const key of keys) await screen.page.keyboard.press(key)
  }
  const type = (text: string) => screen.page.keyboard.type(text)

  /** Waits until the element of this name has the focus. */
  async function focused(name: string): Promise<void> {
    const now = () =>
      screen.page.evaluate(() => {
        const at = document.activeElement
        if (!at || at === document.body) return 'nothing'
        const label = (at as HTMLInputElement).labels?.[0]?.textContent?.trim()
        return at.getAttribute('aria-label') ?? label ?? at.getAttribute('role') ?? at.textContent!.trim()
      })
    await until(`the focus on ${name}`, async () => (await now()) === name).catch(async (e: Error) => {
      throw new Error(`${e.message}; it is on ${await now()}`)
    })
  }

  /** Waits until the options are enabled: for a moment they are not, so that a key meant for something else cannot answer. */
  const answerable = () =>
    until('the options', () => screen.permission.locator('[data-option]').first().isEnabled())

  test('starts a session with its first prompt', async () => {
    await press('c')
    await focused('First prompt optional')
    await type('/ask')
    // Tab goes through the agent and the folder to the name.
    const name = screen.page.getByLabel('Name optional')
    await until('the focus on the name', async () => {
      await press('Tab')
      return name.evaluate((field) => field === document.activeElement)
    })
    await type('By keys')
    await press('Enter')
    await screen.page.getByRole('heading', { name: 'By keys' }).waitFor()
    session = (await until('the session', async () => (await screen.facts()).session)) || ''
    const prompt = await hub.event(session, 'user_prompt')
    expect(prompt.data.text).toBe('/ask')
  })

  test('queues a prompt while the agent waits for an answer', async () => {
    await screen.permission.waitFor()
    // A question takes the focus from an empty composer, which may have had none yet. Tab leads back.
    await until('the focus on the prompt', async () => {
      if (await screen.composer.evaluate((field) => field === document.activeElement)) return true
      await press('Tab')
      return false
    })
    await type('/slow 1')
    await press('Control+Enter')
    await screen.page.getByText('1 queued').waitFor()
    await focused('Prompt')
    await expect
      .poll(() => screen.composer.inputValue(), { message: 'the composer is ready for the next' })
      .toBe('')
    await press('Escape')
    await focused('Session')
  })

  test('answers a permission request by its letter, and what was queued runs', async () => {
    await answerable()
    await press('q')
    await focused('alertdialog')
    await press('x')
    const outcome = await hub.event(session, 'permission_outcome')
    expect(outcome.data.outcome).toBe('selected')
    await focused('Session')
    const first = await hub.event(session, 'turn_end')
    await hub.event(session, 'turn_end', first.seq)
    await hub.idle(session)
    await screen.permission.waitFor({ state: 'detached' })
    await expectWhole(screen, hub, session)
    const asked = hub.events(session).flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))
    expect(asked).toEqual(['/ask', '/slow 1'])
  })

  test('answers a permission request by its buttons', async () => {
    const last = hub.lastSeq(session)
    await press('i')
    await type('/ask')
    await press('Control+Enter')
    await screen.permission.waitFor()
    await answerable()
    await press('Escape')
    await focused('Session')
    await press('q')
    await focused('alertdialog')
    await expect
      .poll(() => screen.permission.getByRole('heading').textContent(), { message: 'it is a question' })
      .toMatch(/\?$/)
    const option = screen.permission.locator('[data-option]', { hasText: 'Allow once' })
    let tabs = 0
    await until('the option in reach of the Tab key', async () => {
      if (await option.evaluate((button) => button === document.activeElement)) return true
      await press('Tab')
      tabs++
      return false
    })
    expect(tabs, 'Tabs to the answer').toBeLessThanOrEqual(3)
    await press('Enter')
    const outcome = await hub.event(session, 'permission_outcome', last)
    const request = hub.events(session).find((e) => e.type === 'permission_request' && e.seq > last)
    const allow =
      request?.type === 'permission_request' && request.data.options.find((o) => o.kind === 'allow_once')
    expect(outcome.data.option_id).toBe(allow && allow.option_id)
    await hub.event(session, 'turn_end', last)
    await screen.permission.waitFor({ state: 'detached' })
    await focused('Session')
  })

  test('searches the list and opens what was found', async () => {
    await press('Escape')
    await press('/')
    await focused('Search sessions')
    await type('olive')
    const links = screen.page.getByRole('navigation', { name: 'Sessions' }).locator('a[href^="/s/"]')
    await until('one session left', async () => (await links.count()) === 1)
    await press('Tab', 'Tab') // over the filter
    await expect.poll(() => links.first().evaluate((link) => link === document.activeElement)).toBe(true)
    await press('Enter')
    await screen.page.getByRole('heading', { name: 'Olive' }).waitFor()
    await focused('Prompt')
    await press('Escape', '/')
    await focused('Search sessions')
    await press('Control+a', 'Delete', 'Escape')
    await until('all sessions again', async () => (await links.count()) === 7)
  })

  test.each([
    ['the palette', 'Control+k', 'Command or session'],
    ['the keys', '?', ''],
    ['a new session', 'c', 'First prompt optional'],
  ])('opens and closes the dialog of %s, and is back where they were', async (_, key, field) => {
    if (key === 'Control+k') await press('i')
    else {
      await screen.feed.focus()
    }
    const before = key === 'Control+k' ? 'Prompt' : 'Session'
    await focused(before)
    await press(key)
    await screen.page.locator('dialog[open]').waitFor()
    if (field) await focused(field)
    await press('Escape')
    await screen.page.locator('dialog').waitFor({ state: 'detached' })
    await focused(before)
  })

  test('goes to a session by the palette', async () => {
    await press('Control+k')
    await focused('Command or session')
    await type('By keys')
    await screen.page.getByRole('option', { name: 'By keys' }).first().waitFor()
    await press('Enter')
    await screen.page.getByRole('heading', { name: 'By keys' }).waitFor()
    await screen.reaches(session, hub.lastSeq(session))
  })

  test('starts one session however often the keys are pressed, and none before the agents are loaded', async () => {
    const { page } = screen
    let [loaded, answered] = [() => {}, () => {}]
    const agents = new Promise<void>((resolve) => (loaded = resolve))
    const answer = new Promise<void>((resolve) => (answered = resolve))
    const asked: { agent: string }[] = []
    await page.route('**/api/agents', async (route) => (await agents, route.continue()))
    await page.route('**/api/sessions', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      asked.push(route.request().postDataJSON() as { agent: string })
      await answer
      await route.continue()
    })
    await screen.go('/')
    // A device that has agents from before begins with them.
    await page.evaluate((key) => localStorage.removeItem(key), 'abide.choices')
    await press('Escape', 'c')
    // Without a folder the form's own validation would prevent the start.
    await writeFolder(page, hub.workspace)
    await page.getByRole('dialog').getByLabel('First prompt').focus()
    await press('Control+Enter')
    loaded()
    await until('the agents', () =>
      page.getByRole('dialog').getByRole('combobox', { name: 'Agent', exact: true }).isEnabled(),
    )
    await type('Only once')
    await press('Control+Enter', 'Control+Enter', 'Control+Enter')
    await until('the session to be asked for', () => asked.length > 0)
    answered()
    await page.waitForURL('**/s/*')
    await screen.feed.getByText('Only once').first().waitFor()
    expect(asked).toMatchObject([{ agent: expect.stringMatching(/./) as string }])
    await page.unroute('**/api/agents')
    await page.unroute('**/api/sessions')
  })
})
