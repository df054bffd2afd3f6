import { expect, test } from 'vitest'
import { aboutRule, scheduleOf, zone } from '../src/ui/jobs/rule'

const job = { task: 'do it' }

test('a form without Repeat makes no schedule', () => {
  expect(scheduleOf(job, {})).toBeUndefined()
  expect(scheduleOf(job, { repeat: '', every: '5', cron: '* * * * *' })).toBeUndefined()
})

test('a schedule has the rule that is chosen, and no other', () => {
  const both = { every: '2', cron: ' 0 9 * * 1 ' }
  expect(scheduleOf(job, { repeat: 'every', ...both })).toEqual({ job, every: '2h' })
  expect(scheduleOf(job, { repeat: 'every', ...both, unit: 'd' })).toEqual({ job, every: '48h' })
  expect(scheduleOf(job, { repeat: 'every', ...both, unit: 's', overlap: 'queue' })).toEqual({
    job,
    every: '2s',
    overlap: 'queue',
  })
  const until = '2026-03-01T10:00'
  expect(scheduleOf(job, { repeat: 'cron', ...both, until })).toEqual({
    job,
    cron: '0 9 * * 1',
    zone: zone(),
    until: new Date(until).toISOString(),
  })
})

test('what the hub refused about the rule is told from what it refused about the job', () => {
  for (const field of ['every', 'cron', 'zone', 'overlap']) expect(aboutRule(field)).toBe(true)
  for (const field of ['workspace', 'policy.preset', undefined]) expect(aboutRule(field)).toBe(false)
})
