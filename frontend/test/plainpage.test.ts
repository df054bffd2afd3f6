import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadPage, numberOf, rowsOfPage, type Ask } from '../src/state/plainpage'
import type { AbideEvent, EventsLoadedMessage } from '../src/wire/gen'

/** A log of turns with these numbers of events. The hub no longer has the events before minSeq. */
function logOf(turns: readonly number[], minSeq = 1): AbideEvent[] {
  const events: AbideEvent[] = []
  turns.forEach((length, turn) => {
    for (let i = 0; i < length; i++) {
      const seq = events.length + 1
      const head = { seq, time: '2026-02-21T14:03:07Z', turn: turn + 1 }
      events.push(
        (i === 0
          ? {
              ...head,
              type: 'user_prompt',
              data: { prompt_id: `p${turn}`, text: `Turn ${turn}`, actor: 'me' },
            }
          : {
              ...head,
              type: 'tool_call',
              data: { tool_call_id: `t${seq}`, title: `Call ${seq}`, kind: 'read', status: 'completed' },
            }) as unknown as AbideEvent,
      )
    }
  })
  return events.slice(minSeq - 1)
}

/** A fake hub: it returns at most `limit` and at most `most` events, and a reset if `after` is before the log. */
function hubOf(log: readonly AbideEvent[], most = 500): Ask {
  const min = log[0]?.seq ?? 1
  const max = log.at(-1)?.seq ?? 0
  return async (after, limit) => {
    expect(limit).toBeGreaterThan(0)
    expect(limit).toBeLessThanOrEqual(500)
    const reset = after < min - 1
    const events = reset ? [] : log.slice(Math.max(0, after - min + 1)).slice(0, Math.min(limit, most))
    return {
      type: 'events_loaded',
      session_id: 's',
      verdict: reset ? 'reset' : 'append',
      epoch: 'e',
      first_seq: events[0]?.seq ?? 0,
      last_seq: events.at(-1)?.seq ?? after,
      min_seq: min,
      max_seq: max,
      has_more: (events.at(-1)?.seq ?? max) < max,
      prepend: false,
      events,
    } as unknown as EventsLoadedMessage
  }
}

/** Small pages, to keep the tests fast. */
const size = 60
const page = (log: readonly AbideEvent[], number: number, most?: number) =>
  loadPage(number, hubOf(log, most), () => {}, size)

describe('the pages of a plain log', () => {
  it('hold each event of the log once, for any turns and any first seq', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3 * size }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 1, max: size + 2 }),
        fc.integer({ min: 1, max: 70 }),
        async (turns, min, most) => {
          const log = logOf(turns, min)
          if (log.length === 0) return
          let next = log[0]!.seq
          const newest = await page(log, Infinity, most)
          for (let n = newest.lowest; n <= newest.highest; n++) {
            const { feed, cutAfter, number } = await page(log, n, most)
            expect(number).toBe(n)
            expect(feed.first).toBe(next)
            expect(feed.count).toBe(feed.last - feed.first + 1)
            expect(feed.count).toBeLessThan(2 * size)
            next = feed.last + 1
            const following = log.find((e) => e.seq === next)
            expect(cutAfter).toBe(following !== undefined && following.type !== 'user_prompt')
          }
          expect(next).toBe(log.at(-1)!.seq + 1)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('begin with a prompt, so that no turn that fits is cut', async () => {
    const log = logOf(Array.from({ length: 30 }, () => 17))
    for (let n = 1; n <= numberOf(log.length, size); n++) {
      const { feed, cutBefore, cutAfter } = await page(log, n)
      expect(log[feed.first - 1]!.type).toBe('user_prompt')
      expect([cutBefore, cutAfter]).toEqual([false, false])
    }
  })

  it('report that a turn longer than a page is cut', async () => {
    const { cutBefore, cutAfter, feed } = await page(logOf([5 * size]), 2)
    expect([cutBefore, cutAfter]).toEqual([true, true])
    expect([feed.first, feed.last]).toEqual([size + 1, 2 * size])
  })

  it('report a log size of at least the events they hold, also while it grows', async () => {
    const [short, long] = [logOf([5]), logOf([9])]
    let asked = 0
    const { maxSeq, feed } = await loadPage(
      1,
      (after, limit) => hubOf(asked++ === 0 ? short : long)(after, limit),
      () => {},
      size,
    )
    expect([feed.last, maxSeq]).toEqual([9, 9])
  })

  it('are the nearest ones if there is no page of that number', async () => {
    const log = logOf([90, 90], 75)
    expect((await page(log, 1)).number).toBe(2)
    expect((await page(log, 99)).number).toBe(3)
    expect((await page([], 1)).feed.count).toBe(0)
    expect(await loadPage(1, hubOf(logOf([1999, 20, 3000])), () => {})).toMatchObject({
      feed: { last: 2019 },
    })
  })

  it('show each tool call separately, and a terminal only if no tool call shows it', async () => {
    const log = logOf([4])
    const head = { time: '2026-02-21T14:03:07Z', turn: 1 }
    const terminal = (seq: number, id: string) => ({
      ...head,
      seq,
      type: 'terminal_output',
      data: { terminal_id: id, output: 'out' },
    })
    const call = {
      ...head,
      seq: 5,
      type: 'tool_call',
      data: {
        tool_call_id: 'x',
        title: 'Run',
        kind: 'execute',
        content: [{ type: 'terminal', terminalId: 'a' }],
      },
    }
    const more = [call, terminal(6, 'a'), terminal(7, 'b')] as unknown as AbideEvent[]
    const { feed } = await page([...log, ...more], 1)
    const rows = rowsOfPage(feed).map((row) => (row.kind === 'item' ? row.item.kind : row.kind))
    expect(rows).toEqual(['prompt', 'tool', 'tool', 'tool', 'tool', 'terminal'])
  })
})
