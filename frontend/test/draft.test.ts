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
