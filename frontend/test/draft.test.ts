// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PageFiles } from '../src/ui/session/draftfiles'
import { Draft } from '../src/ui/session/draft.svelte'

beforeEach(() => localStorage.clear())
afterEach(() => void vi.unstubAllGlobals())

const draft = () => new Draft('s', new PageFiles())

test('a draft the device has is there in the next page, and says nothing', () => {
  const first = draft()
  first.write('half a thought')
  expect(first.kept).toBe(true)
  expect(draft().text).toBe('half a thought')
})

test('a draft the device has no room for says that it would be lost, until it is sent or fits', () => {
  const full = draft()
  const kept = localStorage
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.getItem(key),
    removeItem: (key: string) => kept.removeItem(key),
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError')
    },
  })
  full.write('too much')
  expect(full.text).toBe('too much')
  expect(full.kept).toBe(false)
  full.clear()
  expect(full.kept).toBe(true)
  full.write('again too much')
  vi.unstubAllGlobals()
  full.write('fits')
  expect(full.kept).toBe(true)
  expect(draft().text).toBe('fits')
})

test('a long draft is written down within half a second, and at once when the page or the screen may end', () => {
  vi.useFakeTimers()
  const long = 'x'.repeat(100_000)
  const first = draft()
  first.write(long)
  expect(draft().text, 'not at each key').toBe('')
  vi.advanceTimersByTime(250)
  first.write(`${long}y`)
  vi.advanceTimersByTime(250)
  expect(draft().text, 'typing on does not put it off').toBe(`${long}y`)
  first.write(`${long}z`)
  first.flush()
  expect(draft().text).toBe(`${long}z`)
  first.write(`${long}!`)
  first.clear()
  vi.runAllTimers()
  expect(draft().text, 'what was sent does not come back').toBe('')
  first.write(long)
  first.follow('of another tab')
  localStorage.setItem('abide.draft.s', 'of another tab')
  vi.runAllTimers()
  expect(draft().text).toBe('of another tab')
  vi.useRealTimers()
})
