import 'fake-indexeddb/auto'
import { beforeEach, expect, test, vi } from 'vitest'
import { EventCache } from '../src/net/cache'
import { Database } from '../src/net/db'
import { deviceStorage } from '../src/net/storage'
import { epoch, eventsFrame, loadedFrame, Script, sessionId } from './support/script'
import { until } from './support/until'
import { count, inStore } from './support/instore'

const chunks = Array.from({ length: 7_000 }, (_, at) => String(at))
const { events } = new Script().say('m', ...chunks)
const range = (from: number, to: number) => events.slice(from - 1, to)
const next = 'fedcba9876543210'

let name = 0
let db: Database
let storage: Storage
beforeEach(() => {
  db = new Database(`cache${name++}`)
  storage = deviceStorage()
})

/** A cache that has stored the events 1 to 9 in pieces. */
async function visited(): Promise<EventCache> {
  const cache = new EventCache(db, storage)
  cache.offer(loadedFrame(range(1, 3)))
  await cache.flush()
  for (const [from, to] of [
    [4, 6],
    [7, 9],
  ] as const) {
    cache.offer(eventsFrame(range(from, to)))
    await cache.flush()
  }
  return cache
}

/** The seqs that a page opened later loads from the cache; null if it has no run for the session. */
async function later(): Promise<number[] | null> {
  const cache = new EventCache(db, storage)
  const hint = cache.hint(sessionId)
  const kept = hint && (await cache.load(sessionId, hint))
  return kept?.map((e) => e.seq) ?? null
}

test('pieces stored one after the other load as one run, and events of another epoch are not added to it', async () => {
  const cache = await visited()
  expect(await later()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  cache.offer({ ...eventsFrame(range(10, 12)), epoch: next })
  await cache.flush()
  expect(cache.hint(sessionId)).toEqual({ epoch, first: 1, last: 9 })
  expect(await later()).toHaveLength(9)
})

test('a run with a missing piece in the middle is not loaded past the gap', async () => {
  await visited()
  await db.use(inStore('pages', (s) => s.delete([sessionId, 6, 4])))
  expect(await later()).toBeNull()
})

test('after a reset the next page loads the events of the reset only', async () => {
  const cache = await visited()
  cache.offer(loadedFrame(range(1, 3), { verdict: 'reset', reason: 'epoch', epoch: next }))
  await cache.flush()
  expect(await later()).toEqual([1, 2, 3])
  expect(await db.use(count('pages'))).toBe(1)
})

test('a session whose events could not be written has no hint any more', async () => {
  const cache = await visited()
  vi.spyOn(db, 'use').mockRejectedValue(new DOMException('full', 'QuotaExceededError'))
  cache.offer(eventsFrame(range(10, 12)))
  await cache.flush()
  vi.restoreAllMocks()
  expect(cache.hint(sessionId)).toBeNull()
  expect(await later()).toBeNull()
})

test('the newest thousands of events of a long session are kept', async () => {
  const cache = new EventCache(db, storage)
  cache.offer(loadedFrame(range(1, 500)))
  for (let at = 500; at < 7_000; at += 500) {
    cache.offer(eventsFrame(range(at + 1, at + 500)))
    await cache.flush()
  }
  const kept = (await later())!
  expect(kept.at(-1)).toBe(7_000)
  expect(kept.length).toBeGreaterThanOrEqual(3_000)
  expect(kept.length).toBeLessThan(6_001)
  expect(kept).toEqual(kept.map((_, at) => kept[0]! + at))
  expect(await db.use(count('pages'))).toBeLessThan(13)
})

test('the device keeps the twenty sessions written last', async () => {
  const cache = new EventCache(db, storage)
  const ids = Array.from({ length: 23 }, (_, i) => `20260221-150000-${String(i).padStart(8, '0')}`)
  for (const session_id of ids) {
    cache.offer(loadedFrame(range(1, 2), { session_id }))
    await cache.flush()
  }
  expect(ids.filter((id) => cache.hint(id) === null)).toEqual(ids.slice(0, 3))
  await until(async () => expect(await db.use(count('runs'))).toBe(20))
})
