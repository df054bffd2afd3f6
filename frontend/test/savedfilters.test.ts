import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { fits, unfiltered } from '../src/ui/list/filter'
import { removeFilter, same, savedFilters, saveFilter } from '../src/ui/list/savedfilters'
import type { SessionInfo } from '../src/wire/gen'

let kept: Record<string, string>

beforeEach(() => {
  kept = {}
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept[key] ?? null,
    setItem: (key: string, value: string) => (kept[key] = value),
  })
})
afterEach(() => vi.unstubAllGlobals())

const done = { ...unfiltered, lifecycle: 'Completed', tag: 'release' }

it('a filter is saved by its name, replaced, and removed', () => {
  expect(savedFilters()).toEqual([])
  expect(saveFilter('Done', done)).toBe(true)
  expect(saveFilter('All', unfiltered)).toBe(true)
  expect(savedFilters().map((n) => n.name)).toEqual(['All', 'Done'])
  expect(same(savedFilters()[1]!.filter, done)).toBe(true)
  expect(same(done, unfiltered)).toBe(false)
  saveFilter('Done', { ...done, tag: '' })
  expect(savedFilters()[1]!.filter.tag).toBe('')
  removeFilter('Done')
  expect(savedFilters().map((n) => n.name)).toEqual(['All'])
})

it('what cannot be read is left out, what a former version saved is completed', () => {
  for (const broken of ['{', '3', '[1, {"name": 2}, {"name": "x"}, null]']) {
    kept['abide.filters'] = broken
    expect(savedFilters()).toEqual([])
  }
  kept['abide.filters'] = '[{"name": "old", "filter": {"agent": "demo", "gone": "x"}}]'
  expect(savedFilters()).toEqual([{ name: 'old', filter: { ...unfiltered, agent: 'demo' } }])
  for (let i = 0; i < 60; i++) saveFilter(`n${i}`, unfiltered)
  expect(savedFilters().length).toBe(50)
  expect(saveFilter('one more', unfiltered)).toBe(false)
})

it('a browser that keeps nothing says so', () => {
  vi.stubGlobal('localStorage', {
    getItem() {
      throw new Error('forbidden')
    },
    setItem() {
      throw new Error('full')
    },
  })
  expect(savedFilters()).toEqual([])
  expect(saveFilter('x', unfiltered)).toBe(false)
})

it('lifecycle is a filter of its own beside status', () => {
  const session = { status: 'idle', lifecycle: 'expired', agent: 'demo', workspace: '/w' } as SessionInfo
  expect(fits(session, { ...unfiltered, status: 'Idle', lifecycle: 'Expired' })).toBe(true)
  expect(fits(session, { ...unfiltered, lifecycle: 'Active' })).toBe(false)
  expect(fits({ ...session, lifecycle: undefined } as unknown as SessionInfo, unfiltered)).toBe(true)
})
