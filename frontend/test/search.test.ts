import type { FoundPage, Hit } from '../src/wire/gen'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { bySession, pieces } from '../src/state/search'
import { batch, debounceMs, Finder, nothing, type Finding } from '../src/ui/list/finder'

const hit = (seq: number, over: Partial<Hit> = {}): Hit => ({
  session_id: 'a',
  name: 'A',
  seq,
  type: 'agent_message',
  time: '2026-02-21T14:03:07Z',
  snippet: 'the needle here',
  ranges: [[4, 10]],
  ...over,
})

/** A finder with a fake hub: the test reads its calls and gives the answers. */
class Asked {
  readonly calls: { text: string; cursor: string; ended: AbortSignal; answer: (page: FoundPage) => void }[] =
    []
  finding: Finding = nothing
  readonly finder = new Finder(
    (text, cursor, ended) =>
      new Promise((answer, refuse) => {
        ended.addEventListener('abort', () => refuse(new Error('aborted')))
        this.calls.push({ text, cursor, ended, answer })
      }),
    (finding) => (this.finding = finding),
  )
  async answer(hits: Hit[], next_cursor?: string, left = next_cursor ? 1 : 0): Promise<void> {
    this.calls
      .at(-1)!
      .answer({ hits, next_cursor, searched: 9, sessions: 4, sessions_left: left, done: !next_cursor })
    await vi.advanceTimersByTimeAsync(0)
  }
}

let asked: Asked
beforeEach(() => {
  vi.useFakeTimers()
  asked = new Asked()
})
afterEach(() => {
  vi.useRealTimers()
})

it('asks once a person has paused, and for the last text only', async () => {
  asked.finder.start('ne')
  await vi.advanceTimersByTimeAsync(debounceMs - 1)
  asked.finder.start('need')
  await vi.advanceTimersByTimeAsync(debounceMs - 1)
  expect(asked.calls).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(asked.calls.map((c) => c.text)).toEqual(['need'])
})

it('aborts the request of an outdated text, and drops its answer', async () => {
  asked.finder.start('old')
  await vi.advanceTimersByTimeAsync(debounceMs)
  asked.finder.start('new')
  expect(asked.calls[0]!.ended.aborted).toBe(true)
  await asked.answer([hit(1)])
  expect(asked.finding).toMatchObject({ text: 'new', status: 'searching', hits: [] })
})

it('goes on by cursor through pages without hits until everything was searched', async () => {
  asked.finder.start('needle')
  await vi.advanceTimersByTimeAsync(debounceMs)
  await asked.answer([], 'c1', 3)
  expect(asked.finding).toMatchObject({ status: 'searching', sessions: 4, left: 3 })
  await asked.answer([hit(7)])
  expect(asked.calls.map((c) => c.cursor)).toEqual(['', 'c1'])
  expect(asked.finding).toMatchObject({ status: 'done', hits: [hit(7)], left: 0 })
})

it('stops at a batch of hits and fetches the next one when asked for more', async () => {
  const few = [1, 2, 3, 4].map((n) => hit(n))
  const many = Array.from({ length: batch }, (_, i) => ({ ...hit(100 - i), session_id: `s${i}` }))
  asked.finder.start('needle')
  await vi.advanceTimersByTimeAsync(debounceMs)
  await asked.answer(few, 'c0')
  expect(asked.finding.status, 'of one session three are shown').toBe('searching')
  await asked.answer(many, 'c1')
  expect(asked.finding.status).toBe('more')
  expect(asked.calls).toHaveLength(2)
  asked.finder.more()
  expect(asked.calls.at(-1)!.cursor).toBe('c1')
  await asked.answer([hit(1)])
  expect(asked.finding.hits).toEqual([...few, ...many, hit(1)])
})

it('keeps its hits when a person stops it, and goes on from there', async () => {
  asked.finder.start('needle')
  await vi.advanceTimersByTimeAsync(debounceMs)
  await asked.answer([hit(9)], 'c1')
  asked.finder.stop()
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.calls.at(-1)!.ended.aborted).toBe(true)
  expect(asked.finding).toMatchObject({ status: 'stopped', hits: [hit(9)] })
  asked.finder.start('needle')
  expect(asked.calls).toHaveLength(2) // the person stopped it: it does not start again by itself
  asked.finder.more()
  expect(asked.calls.at(-1)!.cursor).toBe('c1')
})

it('continues by itself after a lost connection interrupted it', async () => {
  asked.finder.start('needle')
  await vi.advanceTimersByTimeAsync(debounceMs)
  await asked.answer([], 'c1')
  asked.finder.stop('broken off')
  asked.finder.start('needle')
  expect(asked.calls.at(-1)!.cursor).toBe('c1')
  expect(asked.finding.status).toBe('searching')
})

it('shows why a search failed, and retries when the same text is searched again', async () => {
  let tries = 0
  const finder = new Finder(
    () => (tries++, Promise.reject(new Error('at most 256 bytes can be searched for'))),
    (f) => (asked.finding = f),
  )
  finder.start('x'.repeat(300))
  await vi.advanceTimersByTimeAsync(debounceMs)
  expect(asked.finding).toMatchObject({
    status: 'failed',
    problem: 'at most 256 bytes can be searched for',
  })
  finder.start('x'.repeat(300))
  expect(tries).toBe(2)
})

it('puts hits under their sessions in the order they were found', () => {
  const b = { session_id: 'b', name: 'B' }
  expect(bySession([hit(9), hit(3), hit(5, b)])).toEqual([
    { session: 'a', name: 'A', hits: [hit(9), hit(3)] },
    { session: 'b', name: 'B', hits: [hit(5, b)] },
  ])
})

it('cuts a snippet at its matches without losing a character, whatever the ranges', () => {
  expect(pieces(hit(1))).toEqual([
    { text: 'the ', match: false },
    { text: 'needle', match: true },
    { text: ' here', match: false },
  ])
  for (const ranges of [
    [[10, 4]],
    [[0, 99]],
    [[-1, 3]],
    [
      [4, 10],
      [6, 8],
    ],
    [],
  ] as [number, number][][]) {
    expect(
      pieces(hit(1, { ranges }))
        .map((p) => p.text)
        .join(''),
    ).toBe('the needle here')
  }
})
