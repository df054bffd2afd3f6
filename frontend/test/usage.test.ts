import { expect, it } from 'vitest'
import { lastDays, marksUpTo, tokensByDay } from '../src/state/usage'
import { parseRoute } from '../src/ui/router.svelte'
import type { UsageRow } from '../src/wire/gen'

const row = (day: string, tokens: number) => ({ day, used: { tokens } }) as UsageRow

it('the last days end today, across months and leap days', () => {
  expect(lastDays(3, new Date(2026, 2, 1, 0, 5))).toEqual(['2026-02-27', '2026-02-28', '2026-03-01'])
  expect(lastDays(2, new Date(2028, 2, 1, 23, 59))).toEqual(['2028-02-29', '2028-03-01'])
  expect(lastDays(400, new Date(2026, 9, 25)).length).toBe(new Set(lastDays(400, new Date(2026, 9, 25))).size)
})

it('each day has its tokens, and a day of the hub that is not among them is not lost', () => {
  expect(tokensByDay(['2026-02-27', '2026-02-28'], [row('2026-03-01', 7), row('2026-02-27', 5)])).toEqual([
    ['2026-02-27', 5],
    ['2026-02-28', 0],
    ['2026-03-01', 7],
  ])
})

it('an axis has few round marks and reaches the largest number', () => {
  for (let most = 0; most < 3_000_000; most = Math.ceil(most * 1.3) + 1) {
    const marks = marksUpTo(most)
    expect(marks[0]).toBe(0)
    expect(marks.at(-1)).toBeGreaterThanOrEqual(most)
    expect(marks.length).toBeLessThanOrEqual(5)
    expect(String(marks[1])).toMatch(/^[125]0*$/)
  }
  expect(marksUpTo(0)).toEqual([0, 1])
  expect(marksUpTo(1234)).toEqual([0, 500, 1000, 1500])
})

it('it has an address', () => {
  expect(parseRoute('/usage', '')).toEqual({ screen: 'usage' })
  expect(parseRoute('/settings', '')).toEqual({ screen: 'settings' })
  expect(parseRoute('/usages', '')).toEqual({ screen: 'unknown' })
})
