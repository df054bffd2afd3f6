import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Attention } from '../src/net/attention'
import { Store } from '../src/state/store'
import type { ClientMessage } from '../src/wire/gen'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function attention() {
  const sent: ClientMessage[] = []
  const send = (message: ClientMessage) => (sent.push(message), true)
  const activities = () => sent.map((m) => (m.type === 'presence' ? m.activity : m.type))
  return {
    attention: new Attention(
      new Store(),
      () => null,
      send,
      () => true,
    ),
    activities,
  }
}

test('sending the text changes the activity from typing to viewing at once', () => {
  const { attention: a, activities } = attention()
  a.typing('s1')
  a.viewing('s1')
  expect(activities()).toEqual(['typing', 'viewing'])
  vi.advanceTimersByTime(60_000)
  expect(activities()).toEqual(['typing', 'viewing'])
})

test('a pause ends typing', () => {
  const { attention: a, activities } = attention()
  a.typing('s1')
  vi.advanceTimersByTime(5_000)
  expect(activities()).toEqual(['typing', 'viewing'])
})

test('without typing, the end of typing is not sent', () => {
  const { attention: a, activities } = attention()
  a.viewing('s1')
  expect(activities()).toEqual([])
})
