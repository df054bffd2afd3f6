// Jobs: the form makes one, the screen follows it to its end, and makes another of it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { JobInfo, Jobs, Schedule, ScheduleList } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { desktop, phone, type Size } from './rig/browser.ts'
import { repository } from './rig/git.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { hold, tap } from './rig/touch.ts'
import { alone } from './rig/until.ts'

const config = 'projects: {~/work: {jobs: {auditors: {review: ["true"], size: ["true"]}}}}\n'
const at = paired({ hub: { clientFiles: true, config } })
const jobs = async () => (await at.hub.api<Jobs>('GET', '/api/jobs')).jobs

test('a job is started on the screen of jobs, followed to its end, and run again', async () => {
  const screen = await at.device.open('/jobs', phone)
  const { page } = screen
  await page.getByText('No jobs yet.').waitFor()
  await page.getByRole('button', { name: 'New job' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Task').fill('/plan the way home')
  await dialog.getByLabel('Edit and test').check()
  await dialog.getByRole('button', { name: 'Start the job' }).click()
  await dialog.getByText('no test command is configured').waitFor()
  await expect.poll(() => dialog.getByLabel('Task').inputValue()).toBe('/plan the way home')
  await dialog.getByLabel('Edit here').check()
  await dialog.getByText('More', { exact: true }).first().click()
  await dialog.getByLabel('Minutes', { exact: true }).fill('5')
  // The answer of the first request is lost.
  let lost = 0
  await page.route('**/api/jobs', async (route) => {
    if (lost++ > 0) return route.continue()
    await route.fetch()
    await route.abort()
  })
  await dialog.getByRole('button', { name: 'Start the job' }).click()
  await dialog.getByText('The hub cannot be reached.').waitFor()
  await dialog.getByRole('button', { name: 'Start the job' }).click()
  await dialog.waitFor({ state: 'detached' })
  const line = page.locator('[data-job]')
  await line.getByText('Completed').waitFor()
  await expect.poll(() => line.count(), { message: 'made once' }).toBe(1)
  const [job] = await jobs()
  const { input } = await at.hub.api<{ input: unknown }>('GET', `/api/jobs/${job!.job_id}`)
  expect(input).toMatchObject({
    task: '/plan the way home',
    policy: { preset: 'edit' },
    caps: { wall_s: 300 },
  })
  // The form of the next job has the choices of this one.
  await page.getByRole('button', { name: 'New job' }).click()
  await expect.poll(() => dialog.getByLabel('Edit here').isChecked()).toBe(true)
  await expect.poll(() => dialog.getByLabel('Task').inputValue()).toBe('')
  await page.keyboard.press('Escape')
  await line.getByRole('button', { name: 'Run again' }).click()
  await expect.poll(() => line.getByText('Completed').count()).toBe(2)
  await expect.poll(() => jobs()).toHaveLength(2)
  await line.first().getByRole('link').click()
  await page.getByRole('feed').getByText('/plan the way home').first().waitFor()
  await page.getByRole('region', { name: 'Job' }).getByText('Completed').waitFor()
  await page.close()
})

test.each([phone, desktop])(
  'a job that is asked for without the hub waits, and is made once when it is back ($width)',
  async (size) => {
    const before = (await jobs()).length
    const screen = await at.device.open('/jobs', size)
    const { page } = screen
    await alone(page)
    await page.getByRole('button', { name: 'New job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Start the job' }).waitFor()
    await page.keyboard.press('Escape')
    await at.hub.kill()
    await page.locator('html:not([data-link=open]):not([data-link=checking])').waitFor()
    const task = `/plan without a hub ${size.width}`
    await page.getByRole('button', { name: 'New job' }).click()
    await dialog.getByLabel('Task').fill(task)
    await dialog.getByLabel('Edit here').check()
    await shot(screen, `job-offline-${size.width}`)
    await dialog.getByRole('button', { name: 'Start when connected' }).click()
    const waiting = page.getByRole('region', { name: 'Not started yet' })
    await waiting.getByText('Will start when you reconnect.').waitFor()
    await shot(screen, `job-waits-${size.width}`)
    await waiting.getByRole('button', { name: 'Edit' }).click()
    await expect.poll(() => dialog.getByLabel('Task').inputValue()).toBe(task)
    await expect.poll(() => dialog.getByLabel('Edit here').isChecked()).toBe(true)
    await waiting.waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Start when connected' }).click()
    await page.reload()
    await waiting.getByText(task).waitFor()
    await at.hub.start()
    await waiting.waitFor({ state: 'detached' })
    await page.locator('[data-job]').filter({ hasText: task }).getByText('Completed').waitFor()
    await expect.poll(() => jobs()).toHaveLength(before + 1)
    await page.close()
  },
)

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)(
  'the form of a job has its auditor, its limits and how long it is kept, by %s',
  async (_, size) => {
    const screen = await at.device.open('/jobs', size)
    const { page } = screen
    const act = (name: string) => pressed(page, size, page.getByRole('button', { name }))
    const task = `/plan with a judge ${size.width}`
    await act('New job')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Task').fill(task)
    await pressed(page, size, dialog.locator('summary').first())
    await dialog.getByRole('combobox', { name: 'Auditor' }).selectOption('review')
    await dialog.getByRole('combobox', { name: 'Kept after its end' }).selectOption('a week')
    await dialog.getByRole('spinbutton', { name: 'Silent minutes' }).fill('4')
    await dialog.getByRole('spinbutton', { name: 'Cost' }).fill('0.5')
    await dialog.getByRole('spinbutton', { name: 'Output, in MB' }).fill('2')
    // The folder is in no repository: the hub's words stand below the choice of attempts.
    await dialog.getByRole('combobox', { name: 'Attempts' }).selectOption('2')
    await dialog.getByRole('combobox', { name: 'Agent of attempt 2' }).selectOption('paced')
    await act('Start the job')
    await dialog.locator('[data-about="attempts"]').getByText('is in no repository').waitFor()
    await dialog.getByRole('combobox', { name: 'Attempts' }).selectOption('1')
    await act('Start the job')
    await dialog.waitFor({ state: 'detached' })
    const made = (await jobs()).filter(({ title }) => title.includes(`judge ${size.width}`))
    expect(made, 'made once').toHaveLength(1)
    const { input } = await at.hub.api<{ input: unknown }>('GET', `/api/jobs/${made[0]!.job_id}`)
    expect(input).toMatchObject({
      task,
      auditor: 'review',
      retention: '168h',
      caps: { round_s: 240, cost: 0.5, output_bytes: 2 * 1024 * 1024 },
    })
    await page.locator(`[data-job="${made[0]!.job_id}"]`).getByText('Completed').waitFor()
    await page.close()
  },
)

test('a job that runs is cancelled once that is confirmed', async () => {
  const { job_id } = await at.hub.api<{ job_id: string }>('POST', '/api/jobs', {
    agent: 'paced',
    workspace: at.hub.workspace,
    task: '/slow 3600',
  })
  const screen = await at.device.open('/jobs', phone)
  const line = screen.page.locator(`[data-job="${job_id}"]`)
  await line.getByRole('button', { name: 'Cancel…' }).click()
  await line.getByRole('button', { name: 'Cancel the job' }).click()
  await line.getByText('Cancelled').waitFor()
  await screen.page.close()
})

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)('the page of a job that ended shows its result and its changes, by %s', async (_, size) => {
  const name = 'demo-agent.txt'
  rmSync(join(at.hub.workspace, name), { force: true })
  const { job_id } = await at.hub.api<{ job_id: string }>('POST', '/api/jobs', {
    agent: 'paced',
    workspace: at.hub.workspace,
    task: '/fs',
    policy: { preset: 'edit' },
    retention: '24h',
  })
  const screen = await at.device.open(`/s/${job_id}`, size)
  const { page } = screen
  const job = page.getByRole('region', { name: 'Job' })
  await job.getByText('Completed').waitFor()
  const result = job.getByRole('group', { name: 'Result' })
  await result.getByText('Kept after its end: a day.').waitFor()
  await result.getByRole('heading', { name: '1 changed file' }).waitFor()
  await result.getByRole('group', { name: `Changes in ${name}` }).waitFor()
  // It is put away, and does not come back by itself.
  await pressed(page, size, job.locator('summary').first())
  await result.waitFor({ state: 'hidden' })
  // A notification opens it at its newest event.
  const { max_seq } = await at.hub.session(job_id)
  await page.goto(`${new URL(page.url()).origin}/s/${job_id}?seq=${max_seq}`)
  await result.getByText('I wrote three lines').waitFor()
  await result.getByRole('group', { name: `Changes in ${name}` }).waitFor()
  await page.close()
})

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)('attempts are compared, one is merged and the others discarded, by %s', async (_, size) => {
  const { folder, git } = repositoryOf(`attempts${size.width}`)
  const first = await at.hub.api<JobInfo>('POST', '/api/jobs', {
    agent: 'paced',
    workspace: folder,
    task: '/fs',
    attempts: 2,
    policy: { preset: 'edit' },
  })
  const screen = await at.device.open('/jobs', size)
  const { page } = screen
  const lines = page.locator('[data-job]').filter({ hasText: `attempts${size.width}` })
  await expect.poll(() => lines.getByText('Completed').count()).toBe(2)
  await shot(screen, `attempts-list-${size.width}`)
  await pressed(page, size, lines.getByRole('link', { name: /^Compare the attempts/ }).first())
  await page.waitForURL(`**/jobs/${first.job_id}`)
  const one = page.locator(`[data-job="${first.job_id}"]`)
  await one.getByRole('group', { name: 'Changes in demo-agent.txt' }).waitFor()
  const shown = page.locator('main [data-job]')
  await expect.poll(() => shown.count()).toBe(size.touch ? 1 : 2)
  expect(await barriers(page)).toEqual([])
  await shot(screen, `attempts-${size.width}`)
  if (size.touch) {
    await tap(page.getByRole('tab', { name: 'Attempt 2' }))
    await page.getByRole('tabpanel', { name: 'Attempt 2' }).getByText('Completed').waitFor()
    await tap(page.getByRole('tab', { name: 'Attempt 1' }))
  }
  await pressed(page, size, one.getByRole('button', { name: 'Merge…' }))
  const dialog = page.getByRole('dialog')
  await pressed(page, size, dialog.getByRole('button', { name: 'Commit these files first…' }))
  await dialog.getByLabel('Message').fill('Write it')
  await shot(screen, `attempts-commit-${size.width}`)
  await pressed(page, size, dialog.getByRole('button', { name: 'Commit', exact: true }))
  await pressed(page, size, dialog.getByRole('button', { name: 'Merge', exact: true }))
  await dialog.waitFor({ state: 'detached' })
  expect(git('ls-tree', '--name-only', 'garden')).toContain('demo-agent.txt')
  await one.getByText('Merged into garden.').waitFor()
  await expect
    .poll(() => one.getByRole('button', { name: 'Merge…' }).count(), { message: 'merged once' })
    .toBe(0)
  await pressed(page, size, one.getByRole('button', { name: 'Discard the others…' }))
  await shot(screen, `attempts-discard-${size.width}`)
  await pressed(page, size, one.getByRole('button', { name: 'Discard the others', exact: true }))
  await page.getByText('The other attempts are discarded.').waitFor()
  expect(git('branch', '--list', 'abide/*').trim().split('\n')).toHaveLength(1)
  await shot(screen, `attempts-kept-${size.width}`)
  await page.close()
})

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)(
  'a job is merged on its page, which shows conflicts, and its copy discarded, by %s',
  async (_, size) => {
    const { folder, git } = repositoryOf(`merged${size.width}`)
    const run = async (task: string) => {
      const { job_id } = await at.hub.api<JobInfo>('POST', '/api/jobs', {
        agent: 'paced',
        workspace: folder,
        task,
        policy: { preset: 'edit' },
      })
      const screen = await at.device.open(`/s/${job_id}`, size)
      const { page } = screen
      const job = page.getByRole('region', { name: 'Job', exact: true })
      await job.getByText('Completed').waitFor()
      return {
        screen,
        page,
        job,
        act: (name: string) => pressed(page, size, page.getByRole('button', { name })),
      }
    }
    const none = await run('/plan')
    await none.job.getByRole('button', { name: 'Discard the working copy…' }).waitFor()
    expect(await none.job.getByRole('button', { name: 'Merge…' }).count(), 'it changed nothing').toBe(0)
    await none.page.close()

    const { screen, page, job, act } = await run('/fs')
    const dialog = page.getByRole('dialog')
    await act('Merge…')
    await act('Commit these files first…')
    await dialog.getByLabel('Message').fill('Write it')
    await pressed(page, size, dialog.getByRole('button', { name: 'Commit', exact: true }))
    await dialog.getByRole('button', { name: 'Merge', exact: true }).waitFor()
    // Meanwhile the base has the same file, with other words.
    await page.keyboard.press('Escape')
    writeFileSync(join(folder, 'demo-agent.txt'), 'Of another.\n')
    git('add', '-A')
    git('commit', '-q', '-m', 'Two')
    const [base, tips] = [git('rev-parse', 'garden'), git('for-each-ref', 'refs/heads')]
    await page.reload()
    await act('Merge…')
    await dialog.getByText('demo-agent.txt').first().waitFor()
    await dialog.getByText('conflict', { exact: false }).first().waitFor()
    expect(await barriers(page)).toEqual([])
    await shot(screen, `job-conflicts-${size.width}`)
    await pressed(page, size, dialog.getByRole('button', { name: 'Merge', exact: true }))
    await dialog.getByRole('alert').waitFor()
    expect([git('rev-parse', 'garden'), git('for-each-ref', 'refs/heads')], 'nothing is changed').toEqual([
      base,
      tips,
    ])
    expect(readFileSync(join(folder, 'demo-agent.txt'), 'utf8')).toBe('Of another.\n')
    expect(git('status', '--porcelain')).toBe('')

    // The base is as it was: the job is merged, once.
    git('reset', '-q', '--hard', 'HEAD~1')
    await page.reload()
    await act('Merge…')
    await pressed(page, size, dialog.getByRole('button', { name: 'Merge', exact: true }))
    await dialog.waitFor({ state: 'detached' })
    expect(git('ls-tree', '--name-only', 'garden')).toContain('demo-agent.txt')
    await job.getByText('Merged into garden.').waitFor()
    await expect
      .poll(() => job.getByRole('button', { name: 'Merge…' }).count(), { message: 'merged once' })
      .toBe(0)
    await act('Discard the working copy…')
    await dialog.getByRole('button', { name: 'Keep the copy' }).waitFor()
    await pressed(page, size, dialog.getByRole('button', { name: 'Discard the copy' }))
    await dialog.waitFor({ state: 'detached' })
    await job.getByText('Merged into garden.').waitFor({ state: 'detached' })
    await expect.poll(() => job.getByRole('button', { name: 'Discard the working copy…' }).count()).toBe(0)
    await page.close()
  },
)

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)('the prompt of a session runs in the background, once, by %s', async (_, size) => {
  const id = await at.hub.newSession(`Delegates ${size.width}`, 'paced')
  const screen = await at.device.open(`/s/${id}`, size)
  const { page } = screen
  const prompt = page.getByLabel('Prompt', { exact: true })
  const task = `/slow ${size.width + 5000}`
  await prompt.fill(task)
  await open(page, size)
  const dialog = page.getByRole('dialog')
  await expect.poll(() => dialog.getByLabel('Task').inputValue()).toBe(task)
  // The answer of the first request is lost.
  let lost = 0
  await page.route('**/api/jobs', async (route) => {
    if (lost++ > 0) return route.continue()
    await route.fetch()
    await route.abort()
  })
  const start = dialog.getByRole('button', { name: 'Start the job' })
  await pressed(page, size, start)
  await dialog.getByRole('alert').getByText('The hub cannot be reached.').waitFor()
  expect(await prompt.inputValue(), 'the draft is kept').toBe(task)
  await pressed(page, size, start)
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => prompt.inputValue()).toBe('')
  const mine = (await jobs()).filter((job) => job.session_id === id)
  expect(mine, 'made once').toHaveLength(1)
  const card = page.getByRole('region', { name: 'Jobs of this session' }).locator('[data-job]')
  await card.getByText('Running').waitFor()
  expect(await page.getByText('No messages yet').count(), 'a job says enough').toBe(0)
  await expect.poll(() => card.getByRole('link').getAttribute('href')).toBe(`/s/${mine[0]!.job_id}`)
  await pressed(page, size, card.getByRole('button', { name: 'Cancel…' }))
  await pressed(page, size, card.getByRole('button', { name: 'Cancel the job' }))
  const end = page.getByRole('feed').locator(`[data-job-end="${mine[0]!.job_id}"]`)
  await end.getByText('Job: Cancelled').waitFor()
  await card.waitFor({ state: 'detached' })
  await pressed(page, size, end.getByRole('link', { name: 'Open the job' }))
  await page.getByRole('region', { name: 'Job', exact: true }).getByText('Cancelled').waitFor()
  await page.close()
})

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)('a delegated job that was cut off is resumed from its card, by %s', async (_, size) => {
  const id = await at.hub.newSession(`Resumes ${size.width}`, 'paced')
  const { job_id } = await at.hub.api<JobInfo>('POST', '/api/jobs', {
    agent: 'paced',
    workspace: at.hub.workspace,
    task: `/slow ${size.width + 6000}`,
    session_id: id,
    worktree: false,
  })
  const screen = await at.device.open(`/s/${id}`, size)
  const { page } = screen
  const card = page.getByRole('region', { name: 'Jobs of this session' }).locator('[data-job]')
  await card.getByText('Running').waitFor()
  await at.hub.kill()
  await at.hub.start()
  await card.getByText('Waits for you').waitFor()
  await card.getByText('the hub restarted').waitFor()
  expect(await barriers(page)).toEqual([])
  await shot(screen, `job-cut-${size.width}`)
  await pressed(page, size, card.getByRole('link', { name: /^Resume…/ }))
  await page.waitForURL(`**/s/${job_id}`)
  expect(await page.getByRole('link', { name: /^Resume…/ }).count(), 'on its own page').toBe(0)
  await pressed(page, size, page.getByRole('button', { name: 'Resume', exact: true }))
  await page
    .getByRole('region', { name: 'Job', exact: true })
    .getByText(/Running|Completed/)
    .waitFor()
  await page.close()
})

test.each([phone, desktop])('files go with a prompt to the background ($width)', async (size) => {
  const id = await at.hub.newSession(`Attaches ${size.width}`, 'paced')
  const screen = await at.device.open(`/s/${id}`, size)
  const { page } = screen
  const prompt = page.getByLabel('Prompt', { exact: true })
  await prompt.fill('/plan from the notes')
  const notes = ['notes.txt', 'more.txt'].map((name) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(`notes in ${name} ${size.width}`),
  }))
  await page.locator('[data-picker]').setInputFiles(notes)
  await open(page, size)
  const dialog = page.getByRole('dialog')
  await dialog.getByText('notes.txt').waitFor()
  const tell = dialog.getByRole('checkbox', { name: 'Tell the agent of this session when it ends' })
  if (size.touch) await tap(tell)
  else {
    await tell.focus()
    await page.keyboard.press('Space')
  }
  await shot(screen, `job-files-${size.width}`)
  // The answer of the second upload is lost, then that of the job.
  let uploads = 0
  await page.route('**/attachments?*', async (route) => {
    if (++uploads !== 2) return route.continue()
    await route.fetch()
    await route.abort()
  })
  let lost = 0
  await page.route('**/api/jobs', async (route) => {
    if (lost++ > 0) return route.continue()
    await route.fetch()
    await route.abort()
  })
  const start = dialog.getByRole('button', { name: 'Start the job' })
  for (const fails of [1, 2]) {
    await pressed(page, size, start)
    await expect.poll(() => uploads).toBe(2 * fails)
    await dialog.getByRole('alert').getByText('The hub cannot be reached.').waitFor()
  }
  expect(await page.locator('[data-picker]').count(), 'the draft is there').toBe(1)
  await pressed(page, size, start)
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => prompt.inputValue()).toBe('')
  const mine = (await jobs()).filter((job) => job.session_id === id)
  expect(mine, 'made once').toHaveLength(1)
  const job = await at.hub.api<JobInfo>('GET', `/api/jobs/${mine[0]!.job_id}`)
  expect(job.input?.tell).toBe(true)
  expect(job.input?.attachments?.map(({ name }) => name)).toEqual(['notes.txt', 'more.txt'])
  await page.goto(`${new URL(page.url()).origin}/s/${job.job_id}`)
  await page.getByRole('feed').getByText('more.txt').first().waitFor()
  await page.close()
})

test.each([phone, desktop])(
  'a prompt is sent to the background without the hub, and is made once when it is back ($width)',
  async (size) => {
    const id = await at.hub.newSession(`Delegates alone ${size.width}`, 'paced')
    const screen = await at.device.open(`/s/${id}`, size)
    const { page } = screen
    await alone(page)
    const prompt = page.getByLabel('Prompt', { exact: true })
    const dialog = page.getByRole('dialog')
    const task = `/plan alone ${size.width}`
    await prompt.fill(task)
    await at.hub.kill()
    await page.locator('html:not([data-link=open]):not([data-link=checking])').waitFor()
    const file = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') }
    await page.locator('[data-picker]').setInputFiles(file)
    await open(page, size)
    await dialog.getByText('Files are sent when the hub is connected').waitFor()
    await expect.poll(() => dialog.getByRole('button', { name: 'Not connected' }).isDisabled()).toBe(true)
    await shot(screen, `background-offline-${size.width}`)
    await dialog.getByRole('button', { name: /Remove.*notes.txt/ }).click()
    await pressed(page, size, dialog.getByRole('button', { name: 'Start when connected' }))
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => prompt.inputValue()).toBe('')
    const waiting = page.getByRole('region', { name: 'Not started yet' })
    const toList = async () => size.touch && tap(page.getByRole('button', { name: 'All sessions' }))
    await toList()
    await waiting.getByText(task).waitFor()
    await pressed(page, size, waiting.getByRole('button', { name: 'Edit' }))
    await page.waitForURL(`**/s/${id}`)
    await expect.poll(() => prompt.inputValue()).toBe(task) // it is written in its session again
    await open(page, size)
    await pressed(page, size, dialog.getByRole('button', { name: 'Start when connected' }))
    await dialog.waitFor({ state: 'detached' })
    await toList()
    await waiting.getByText(task).waitFor()
    await shot(screen, `background-waits-${size.width}`)
    await at.hub.start()
    await waiting.waitFor({ state: 'detached' })
    const mine = (await jobs()).filter((job) => job.session_id === id)
    expect(mine, 'made once').toHaveLength(1)
    await page.close()
  },
)

test.each([
  ['a finger', phone],
  ['keys', desktop],
] as const)('a schedule runs, is paused, resumed and deleted, by %s', async (_, size) => {
  const screen = await at.device.open('/jobs', size)
  const { page } = screen
  await page.getByRole('heading', { name: 'Schedules' }).waitFor()
  const act = (name: string) => pressed(page, size, page.getByRole('button', { name }))
  await act('New job')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Task').fill(`/plan for ${size.width}`)
  await dialog.getByRole('combobox', { name: 'Agent' }).selectOption('paced')
  await dialog.getByRole('combobox', { name: 'Repeat' }).selectOption('every')
  await dialog.getByLabel('Unit').selectOption('s')
  const every = dialog.getByRole('spinbutton', { name: 'Every' })
  await every.fill('9')
  await act('Make the schedule')
  await dialog.getByRole('alert').getByText('every is at least 10s').waitFor()
  await expect.poll(() => every.getAttribute('aria-invalid')).toBe('true')
  await every.fill('10')
  await act('Make the schedule')
  await dialog.waitFor({ state: 'detached' })
  const line = page.locator('[data-schedule]')
  await line.getByText('Every 10 seconds').waitFor()
  await line.getByText('It has not run yet.').waitFor()
  const { schedules } = await at.hub.api<ScheduleList>('GET', '/api/schedules')
  const { schedule_id } = schedules[0]!
  const outcome = line.getByRole('list', { name: 'Last runs' }).getByRole('link', { name: 'Completed' })
  await outcome.first().waitFor()
  await act(`Pause: /plan for ${size.width}`)
  await line.getByText('Paused').waitFor()
  const paused = await at.hub.api<Schedule>('GET', `/api/schedules/${schedule_id}`)
  // On a busy machine it may have run twice by now.
  expect(paused.status).toBe('paused')
  expect(paused.outcomes[0]).toMatchObject({ outcome: 'started' })
  await act(`Resume: /plan for ${size.width}`)
  await line.getByText('Next run').waitFor()
  await act(`Delete…: /plan for ${size.width}`)
  await act('Delete the schedule')
  await line.waitFor({ state: 'detached' })
  expect((await at.hub.api<ScheduleList>('GET', '/api/schedules')).schedules).toEqual([])
  const run = page.locator(`[data-job="${paused.outcomes[0]!.job_id}"]`)
  await run.getByText('Completed').waitFor()
  await page.close()
})

/** Makes a folder of the workspace a repository with a commit. */
function repositoryOf(name: string) {
  const folder = join(at.hub.workspace, name)
  mkdirSync(folder, { recursive: true })
  const git = repository(folder)
  git('commit', '-q', '--allow-empty', '-m', 'One')
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.org')
  return { folder, git }
}

/** Opens the form that makes a job of the draft. */
async function open(page: Page, size: Size): Promise<void> {
  if (!size.touch) return pressed(page, size, page.getByRole('button', { name: 'Run in background' }))
  const item = page.getByRole('menuitem', { name: 'Run in background…' })
  await hold(page.getByRole('button', { name: 'Send', exact: true }), item)
  await tap(item)
}

/** Presses a button as a person at this size does. */
async function pressed(page: Page, size: Size, button: Locator): Promise<void> {
  if (size.touch) return tap(button)
  await button.focus()
  await page.keyboard.press('Enter')
}
