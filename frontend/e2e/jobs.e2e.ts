// Jobs: the form makes one, the screen follows it to its end, and makes another of it.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Jobs, Schedule, ScheduleList } from '../src/wire/gen.ts'
import { desktop, phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { hold, tap } from './rig/touch.ts'

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
  expect(await dialog.getByLabel('Task').inputValue()).toBe('/plan the way home')
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
  expect(await line.count(), 'made once').toBe(1)
  const [job] = await jobs()
  const { input } = await at.hub.api<{ input: unknown }>('GET', `/api/jobs/${job!.job_id}`)
  expect(input).toMatchObject({
    task: '/plan the way home',
    policy: { preset: 'edit' },
    caps: { wall_s: 300 },
  })
  await line.getByRole('button', { name: 'Run again' }).click()
  await expect.poll(() => line.getByText('Completed').count()).toBe(2)
  expect(await jobs()).toHaveLength(2)
  await line.first().getByRole('link').click()
  await page.getByRole('feed').getByText('/plan the way home').first().waitFor()
  await page.getByRole('region', { name: 'Job' }).getByText('Completed').waitFor()
  await page.close()
})

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
    await dialog.getByRole('combobox', { name: 'To be kept after its end' }).selectOption('a week')
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
    task: '/slow 600',
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
  await result.getByText('To be kept after its end: a day.').waitFor()
  await result.getByRole('heading', { name: '1 changed file' }).waitFor()
  await result.getByRole('group', { name: `Changes in ${name}` }).waitFor()
  // It is put away, and does not come back by itself.
  await pressed(page, size, job.locator('summary').first())
  await result.waitFor({ state: 'hidden' })
  await page.reload()
  await result.getByRole('group', { name: `Changes in ${name}` }).waitFor()
  await page.close()
})

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
  if (size.touch) {
    const item = page.getByRole('menuitem', { name: 'Run in background…' })
    await hold(page.getByRole('button', { name: 'Send', exact: true }), item)
    await tap(item)
  } else await pressed(page, size, page.getByRole('button', { name: 'Run in background' }))
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByLabel('Task').inputValue()).toBe(task)
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
  expect(await prompt.inputValue()).toBe('')
  const mine = (await jobs()).filter((job) => job.session_id === id)
  expect(mine, 'made once').toHaveLength(1)
  const card = page.getByRole('region', { name: 'Jobs of this session' }).locator('[data-job]')
  await card.getByText('Running').waitFor()
  expect(await card.getByRole('link').getAttribute('href')).toBe(`/s/${mine[0]!.job_id}`)
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
  expect(await every.getAttribute('aria-invalid')).toBe('true')
  await every.fill('10')
  await act('Make the schedule')
  await dialog.waitFor({ state: 'detached' })
  const line = page.locator('[data-schedule]')
  await line.getByText('Every 10 seconds').waitFor()
  await line.getByText('It has not run yet.').waitFor()
  const { schedules } = await at.hub.api<ScheduleList>('GET', '/api/schedules')
  const { schedule_id } = schedules[0]!
  const outcome = line.getByRole('list', { name: 'Last runs' }).getByRole('link', { name: 'Completed' })
  await outcome.first().waitFor({ timeout: 20_000 })
  await act(`Pause: /plan for ${size.width}`)
  await line.getByText('Paused').waitFor()
  const paused = await at.hub.api<Schedule>('GET', `/api/schedules/${schedule_id}`)
  expect(paused).toMatchObject({ status: 'paused', outcomes: [{ outcome: 'started' }] })
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

/** Presses a button as a person at this size does. */
async function pressed(page: Page, size: Size, button: Locator): Promise<void> {
  if (size.touch) return tap(button)
  await button.focus()
  await page.keyboard.press('Enter')
}
