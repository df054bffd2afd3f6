// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { ApiError } from '../src/net/api'
import { Starts, startsKey } from '../src/net/starts'
import { keptStarts, staleMs, type Start } from '../src/state/starts'

beforeEach(() => localStorage.clear())

const request = { agent: 'demo', workspace: '/src', prompt: 'do it' }
const unreachable = () => new ApiError(0, 'unreachable', 'The hub cannot be reached.')

/** The starts of one tab. Its hub gives these answers in order; null is success. */
function tab(answers: (Error | null)[], storage = localStorage) {
  const made: string[] = []
  let shown: readonly Start[] = []
  const clock = { now: 1_000_000 }
  const starts = new Starts(
    storage,
    (_, key) => {
      made.push(key)
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      return answer ? Promise.reject(answer) : Promise.resolve()
    },
    (message) => {
      if (message.kind === 'starts') shown = message.starts
    },
    () => clock.now,
  )
  return { starts, made, clock, shown: () => shown.map(({ key }) => key), list: () => shown }
}

test('a waiting start is stored before it is sent, and is sent until the hub has made the session', async () => {
  const { starts, made, shown } = tab([unreachable(), unreachable(), null])
  expect(starts.add(request, 'a')).toBe(true)
  expect(keptStarts(JSON.parse(localStorage.getItem(startsKey)!)).map((s) => s.key)).toEqual(['a'])
  while (made.length < 3) {
    expect(shown()).toEqual(['a'])
    await starts.flush()
  }
  expect([shown(), new Set(made), localStorage.getItem(startsKey)]).toEqual([[], new Set(['a']), null])
})

test('a start that the hub could not take yet is sent again, without another connection', async () => {
  vi.useFakeTimers()
  try {
    const { starts, shown } = tab([new ApiError(503, 'unavailable', 'starting'), null])
    starts.add(request, 'a')
    await starts.flush()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(shown()).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})

test('another tab sees the waiting starts, and sends them with the same key', async () => {
  const one = tab([unreachable()])
  one.starts.add(request, 'a')
  await one.starts.flush()
  const other = tab([null])
  expect(other.shown()).toEqual(['a'])
  await other.starts.flush()
  expect([other.made, localStorage.getItem(startsKey)]).toEqual([['a'], null])
})

test('a refused start shows why and waits for the person, without holding up the next', async () => {
  const { starts, made, list } = tab([new ApiError(400, 'invalid', 'no such folder'), null])
  localStorage.setItem(startsKey, JSON.stringify([{ key: 'a', request, at: 1_000_000 }]))
  starts.add(request, 'b')
  await starts.flush()
  expect(list().map(({ key, problem }) => [key, problem])).toEqual([['a', 'no such folder']])
  await starts.flush()
  expect(made).toEqual(['a', 'b'])
  starts.retry('a')
  await starts.flush()
  expect([made, list()]).toEqual([['a', 'b', 'a'], []])
})

test('after ten minutes a start is sent only if the person confirms it', async () => {
  const { starts, made, clock, shown } = tab([null])
  localStorage.setItem(startsKey, JSON.stringify([{ key: 'a', request, at: clock.now - staleMs - 1 }]))
  starts.drop('none') // reads the stored starts
  await starts.flush()
  expect([made, shown()]).toEqual([[], ['a']])
  starts.retry('a')
  await starts.flush()
  expect([made, shown()]).toEqual([['a'], []])
})

test('on a full device no start is accepted, and the caller is told', () => {
  const full = {
    getItem: () => null,
    setItem() {
      throw new DOMException('full', 'QuotaExceededError')
    },
  }
  const { starts, shown } = tab([null], full as unknown as Storage)
  expect([starts.add(request, 'a'), shown()]).toEqual([false, []])
})

test('malformed stored starts are ignored', () => {
  const good = { key: 'a', request, at: 1 }
  const bad = [null, 1, {}, { key: 'a', at: 1 }, { ...good, at: '1' }, { ...good, request: { agent: 1 } }]
  expect(keptStarts([...bad, good, { ...good, problem: 3 }])).toEqual([good])
  expect(keptStarts({ 0: good })).toEqual([])
})

test('a job waits with its form, and the hub is asked for it once', async () => {
  const job = { agents: ['one', 'two'], workspace: '/src', task: 'do it', attempts: 2 }
  const form = { prompt: 'do it', attempts: '2' }
  const { starts, made, list } = tab([new ApiError(400, 'invalid', 'no such folder'), null])
  expect(starts.add(job, 'a', form)).toBe(true)
  await starts.flush()
  const kept = keptStarts(JSON.parse(localStorage.getItem(startsKey)!))
  expect(kept).toMatchObject([{ request: job, form, problem: 'no such folder' }])
  starts.retry('a')
  expect(list()).toMatchObject([{ request: job, form }])
  expect(list()[0]!.problem).toBeUndefined()
  await starts.flush()
  expect([made, list()]).toEqual([['a', 'a'], []])
})
