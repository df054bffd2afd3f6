// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PageFiles } from '../src/ui/session/draftfiles'
import { Draft } from '../src/ui/session/draft.svelte'

beforeEach(() => localStorage.clear())
afterEach(() => void vi.unstubAllGlobals())

const draft = () => new Draft('s', new PageFiles())

test('a stored draft is there in the next page, without a warning', () => {
  const first = draft()
  first.write('half a thought')
  expect(first.kept).toBe(true)
  expect(draft().text).toBe('half a thought')
})

test('a draft the device has no room for warns that it may be lost, until it is sent or fits', () => {
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
  const back = draft() // as after a visit to another session
  expect([back.text, back.kept]).toEqual(['too much', false])
  full.clear()
  expect([draft().text, draft().kept]).toEqual(['', true])
  expect(full.kept).toBe(true)
  full.write('again too much')
  vi.unstubAllGlobals()
  full.write('fits')
  expect(full.kept).toBe(true)
  expect(draft().text).toBe('fits')
})

test('a draft that two tabs send at once is one prompt, and new text or files are another', async () => {
  const [one, two] = [draft(), draft()]
  one.write('again')
  two.follow('again')
  const id = one.promptId()
  expect(two.promptId()).toBe(id)
  expect(draft().promptId(), 'in a page that comes later').toBe(id)
  expect(one.promptId('2026-02-21T15:00:00Z'), 'for later').not.toBe(id)
  two.write('again and')
  expect(two.promptId(), 'with other words').not.toBe(id)
  one.clear()
  two.write('again')
  expect(two.promptId(), 'while the news of its end is on its way').toBe(id)
  two.follow('')
  for (const tab of [one, two]) {
    tab.write('again')
    expect(tab.promptId(), 'once it was sent').not.toBe(id)
    tab.clear()
  }
})

test('a draft without an id, as an older app left it, is never taken for another draft', () => {
  const first = draft()
  first.write('again')
  first.clear()
  localStorage.setItem('abide.draft.s', 'again')
  const [one, two] = [draft(), draft()]
  expect(one.promptId()).not.toBe(two.promptId())
  first.follow('again')
  expect(first.promptId()).not.toBe(first.promptId())
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
