import { expect, it } from 'vitest'
import { around, folded, most } from '../src/ui/feed/plancut'
import type { PlanEntry } from '../src/wire/gen'

const plan = (n: number, now: number) =>
  Array.from({ length: n }, (_, i) => ({
    content: `step ${i}`,
    status: i < now ? 'completed' : i === now ? 'in_progress' : 'pending',
    priority: 'low',
  })) as PlanEntry[]

it('a long plan shows the entry in progress and those near it', () => {
  const { entries, before, done } = around(plan(300, 200), most)
  expect(entries).toHaveLength(12)
  expect(entries[2]?.status).toBe('in_progress')
  expect([before, done]).toEqual([198, 198])
  expect(folded(before, done)).toBe('198 done')
  expect(folded(5, 3)).toBe('5 earlier, 3 done')
})

it('with no entry in progress it shows the next one, and counts only completed entries as done', () => {
  const pending = (at: number) =>
    plan(300, 200).map((e, i) => (i === at ? { ...e, status: 'pending' as const } : e))
  expect(around(pending(200), most).entries[2]?.content).toBe('step 200')
  expect(around(pending(5), most)).toMatchObject({ before: 198, done: 197 })
})

it('its ends, and a short plan, are filled', () => {
  expect(around(plan(300, 0), most)).toMatchObject({ before: 0, entries: { length: 12 } })
  expect(around(plan(300, 300), most)).toMatchObject({ before: 288, entries: { length: 12 } })
  expect(around(plan(12, 9), most)).toMatchObject({ before: 0, entries: { length: 12 } })
  expect(around(plan(300, 200), Infinity)).toMatchObject({ before: 0, entries: { length: 300 } })
})
