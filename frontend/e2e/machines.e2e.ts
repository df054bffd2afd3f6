// A second hub joins the hub of the device: its sessions are used at home.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Hub } from './rig/hub.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const sizes = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
]

describe('a session of a machine', () => {
  const at = paired()
  let laptop: Hub
  let session: string
  beforeAll(async () => {
    laptop = await Hub.start()
    const { url } = await at.hub.api<{ url: string }>('POST', '/api/machines/links', {})
    await laptop.api('POST', '/api/home', { link: url, name: 'laptop', allow: 'manage' })
    session = await laptop.newSession('On the laptop')
    await laptop.turn(session, '/slow 1')
    await at.hub.newSession('At home')
  })
  afterAll(() => laptop.stop())

  test.each(sizes)('is listed, opened, prompted and answered at home, on $width × $height', async (size) => {
    const list = await at.device.open('/', size)
    await list.page
      .getByText(/^laptop · work/)
      .first()
      .waitFor()
    await shot(list, `machines-list-${size.width}`)
    const screen = await at.device.watch(session, size)
    const before = laptop.lastSeq(session)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await shot(screen, `machines-question-${size.width}`)
    await screen.permission.locator('[data-option]').first().click()
    await laptop.event(session, 'turn_end', before)
    await screen.reaches(session, laptop.lastSeq(session))
    await shot(screen, `machines-session-${size.width}`)
  })

  test.each(sizes)('is made on the machine that was chosen, on $width × $height', async (size) => {
    const list = await at.device.open('/', size)
    await list.page.getByRole('button', { name: 'New session' }).first().click()
    const form = list.page.getByRole('dialog', { name: 'New session' })
    await form.getByRole('combobox', { name: 'Machine' }).selectOption('laptop')
    await form.locator('[data-folder]', { hasText: /work$/ }).waitFor()
    await form.getByPlaceholder('Describe the task').fill('/slow 1')
    await shot(list, `machines-new-${size.width}`)
    await form.locator('[data-folder]').click()
    const chooser = list.page.getByRole('dialog', { name: 'Choose a folder' })
    await chooser.getByText('Allowed folders').waitFor()
    await shot(list, `machines-folder-${size.width}`)
    await chooser.getByRole('button', { name: 'Use this folder' }).click()
    await chooser.waitFor({ state: 'detached' })
    await form.getByRole('button', { name: 'Start' }).click()
    await list.page.waitForURL('**/s/*')
    const made = list.page.url().split('/s/')[1]!.slice(0, 24)
    await until('the laptop has it', () => laptop.events(made).some((e) => e.type === 'turn_end'))
    await list.reaches(made, laptop.lastSeq(made))
    await shot(list, `machines-made-${size.width}`)
  })

  test.each(sizes)('is a job that is made on it from home, on $width × $height', async (size) => {
    const screen = await at.device.open('/jobs', size)
    const { page } = screen
    await page.getByRole('button', { name: 'New job' }).click()
    const form = page.getByRole('dialog', { name: 'New job' })
    await form.getByRole('combobox', { name: 'Machine' }).selectOption('laptop')
    await form.locator('[data-folder]', { hasText: /work$/ }).waitFor()
    await form.getByRole('textbox').first().fill(`/slow 1 at ${size.width}`)
    await shot(screen, `machines-newjob-${size.width}`)
    await form.getByRole('button', { name: 'Start' }).click()
    await page.getByText(`/slow 1 at ${size.width}`).first().waitFor()
    const ended = await until('the job to end', async () => {
      const { jobs } = await laptop.api<{ jobs: { title: string; status: string }[] }>('GET', '/api/jobs')
      const job = jobs.find((j) => j.title === `/slow 1 at ${size.width}`)
      return job && /completed|failed|cancelled/.test(job.status) ? job.status : null
    })
    expect(ended).toBe('completed')
    expect((await at.hub.api<{ jobs: object[] }>('GET', '/api/jobs?machine=here')).jobs).toEqual([])
    await shot(screen, `machines-jobs-${size.width}`)
    await page.close()
  })

  test.each(sizes)('has its machine’s usage and storage at home, on $width × $height', async (size) => {
    const screen = await at.device.open('/usage', size)
    const { page } = screen
    await page.getByText('Nothing was used in these days.').or(page.getByText('By project')).waitFor()
    await page.getByRole('combobox', { name: 'Machine' }).selectOption('laptop')
    await page.locator('dt', { hasText: 'Turns' }).waitFor()
    const { total } = await laptop.api<{ total: { turns: number } }>('GET', '/api/usage')
    await page.locator('dt', { hasText: 'Turns' }).locator('+ dd').getByText(String(total.turns)).waitFor()
    await shot(screen, `machines-usage-${size.width}`)
    await page.goto(`${at.device.origin}/settings`)
    const storage = page.locator('section', { has: page.locator('#storage') })
    await storage.getByRole('button', { name: 'Clean up…' }).waitFor()
    await storage.getByRole('combobox', { name: 'Machine' }).selectOption('laptop')
    const { sessions } = await laptop.api<{ sessions: number }>('GET', '/api/storage')
    await storage
      .getByText(new RegExp(`^\\s*${sessions} sessions?`))
      .first()
      .waitFor()
    await storage.getByRole('button', { name: 'Clean up…' }).waitFor({ state: 'detached' })
    await storage.scrollIntoViewIfNeeded()
    await shot(screen, `machines-storage-${size.width}`)
    await page.close()
  })

  test.each(sizes)(
    'is removed with its machine, which is added again, in the settings, on $width × $height',
    async (size) => {
      const screen = await at.device.open('/settings', size)
      const { page } = screen
      const line = page.locator('[data-machine]')
      await line.getByText(/^Connected · full access to sessions · [0-9]+ sessions$/).waitFor()
      await line.scrollIntoViewIfNeeded()
      await line.getByRole('button', { name: 'Rename: laptop' }).click()
      await line.getByLabel('New name').fill('my laptop')
      await line.getByRole('button', { name: 'Save' }).click()
      await line.getByText('my laptop', { exact: true }).waitFor()
      await line.getByRole('button', { name: 'Remove: my laptop' }).click()
      await line.getByText('Its sessions leave this list').waitFor()
      await line.getByRole('button', { name: 'Remove', exact: true }).click()
      await line.waitFor({ state: 'detached' })
      await laptop.api('DELETE', '/api/home')
      await page.getByRole('button', { name: 'Add a machine' }).click()
      const panel = page.getByRole('group', { name: 'Add a machine' })
      const command = await panel.locator('code', { hasText: /^abide join/ }).textContent()
      await panel.scrollIntoViewIfNeeded()
      await shot(screen, `machines-add-${size.width}`)
      const link = /'(.*)'/.exec(command!)![1]!
      await laptop.api('POST', '/api/home', { link, name: 'laptop', allow: 'manage' })
      await line.getByText('laptop', { exact: true }).waitFor()
      await panel.waitFor({ state: 'detached' })
      await shot(screen, `machines-settings-${size.width}`)
      await page.close()
    },
  )

  test.each(sizes)(
    'can be read while its machine is away, and a prompt waits until it is back, on $width × $height',
    async (size) => {
      await laptop.turn(session, '/slow 1')
      const last = laptop.lastSeq(session)
      const before = await at.device.watch(session, size)
      await before.reaches(session, last)
      await before.page.close()
      const unread = await laptop.newSession(`Never opened ${size.width}`)
      await laptop.turn(unread, '/slow 1')
      const list = await at.device.open('/', size)
      await list.page.getByText(`Never opened ${size.width}`).first().waitFor()
      const whole = readFileSync(join(laptop.data, 'sessions', session, 'events.jsonl'), 'utf8')
      await laptop.kill()
      await list.page
        .getByText(/^laptop \(away\) · work/)
        .first()
        .waitFor()
      await list.page.getByRole('button', { name: 'Filter', exact: true }).click()
      await list.page.locator('[data-filter=machine]').selectOption('laptop')
      await list.page.getByText('At home').waitFor({ state: 'detached' })
      await shot(list, `machines-away-list-${size.width}`)
      await list.page.close()

      const closed = await at.device.open(`/s/${unread}`, size)
      const away = closed.page.getByRole('region', { name: 'Machine away' })
      await away.getByText('This hub has no copy of this session.').waitFor()
      await shot(closed, `machines-away-closed-${size.width}`)

      const screen = await at.device.watch(session, size)
      await screen.reaches(session, last)
      await screen.page
        .getByRole('region', { name: 'Machine away' })
        .getByText(/^laptop: Away\. You see/)
        .waitFor()
      await screen.prompt('/burst 20')
      await screen.page.getByText('will be sent when laptop is back').waitFor()
      await shot(screen, `machines-away-session-${size.width}`)
      const { machines } = await at.hub.api<{ machines: { id: string }[] }>('GET', '/api/machines')
      const copied = () =>
        readFileSync(join(at.hub.data, 'copies', machines[0]!.id, session, 'events.jsonl'), 'utf8')
      expect(whole.startsWith(copied())).toBe(true)
      await expect.poll(() => copied().length).toBeGreaterThan(1000)

      await laptop.start()
      await laptop.event(session, 'turn_end', last)
      await screen.reaches(session, laptop.lastSeq(session))
      await screen.page.locator('[data-outbox]').waitFor({ state: 'detached' })
      const prompts = laptop.events(session).filter((e) => e.type === 'user_prompt')
      expect(prompts.map((e) => e.data.text).filter((text) => text === '/burst 20')).toHaveLength(
        size === sizes[0] ? 1 : 2,
      )
      await away.waitFor({ state: 'detached' })
      await closed.reaches(unread, laptop.lastSeq(unread))
      await until('the copy is the log', () =>
        Promise.resolve(
          copied() === readFileSync(join(laptop.data, 'sessions', session, 'events.jsonl'), 'utf8'),
        ),
      )
    },
  )
})
