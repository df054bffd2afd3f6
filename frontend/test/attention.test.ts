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

test('a person who sent the text is at once said to read', () => {
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

test('who did not type is not said to have stopped', () => {
  const { attention: a, activities } = attention()
  a.viewing('s1')
  expect(activities()).toEqual([])
})
