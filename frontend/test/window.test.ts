import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reduce, initial, type AppState } from '../src/state/app'
import { after, emptyFeed } from '../src/state/feed'
import type { Message } from '../src/state/message'
import { isShown, shownFeed } from '../src/state/window'
import { eventsFrame, loadedFrame, Script, sessionId } from './support/script'

/** A log of turns with messages in chunks, and with tool calls that end several events after their start. */
function log(size: number) {
  const script = new Script()
  while (script.events.length < size) {
    const n = script.events.length
    if (n % 50 === 0) script.add('user_prompt', { prompt_id: `p${n}`, text: 'go' })
    else if (n % 7 === 0)
      script.add('tool_call', { tool_call_id: `t${n}`, title: `T${n}`, status: 'pending' })
    else if (n % 7 === 5 && n > 7)
      script.add('tool_call_update', { tool_call_id: `t${n - 5}`, status: 'completed' })
    else script.say(`m${Math.floor(n / 20)}`, `${n} `)
  }
  return script.events
}

/** A session whose live run begins at `first`, with functions that load pages of its log. */
function opened(size: number, first: number) {
  const events = log(size)
  const pageOf = (from: number, to: number) =>
    loadedFrame(events.slice(Math.max(0, from - 1), to), { min_seq: 1, max_seq: size })
  let state: AppState = reduce(initial, { kind: 'open', sessionId })
  const take = (message: Message) => void (state = reduce(state, message))
  take({ kind: 'frame', frame: pageOf(first, size) })
  const session = () => state.sessions.get(sessionId)!
  const around = (seq: number, half: number) => {
    take({ kind: 'seek', sessionId, seq })
    const { seeking } = session()
    if (seeking !== null) take({ kind: 'window_page', frame: pageOf(seq - half, seq + half), target: seq })
  }
  const older = (n: number) => {
    const { window } = session()
    if (!window || window.first === 1) return
    const frame = { ...pageOf(window.first - n, window.first - 1), prepend: true }
    take({ kind: 'window_page', frame, target: null })
  }
  const newer = (n: number) => {
    const { window } = session()
    if (!window) return
    take({
      kind: 'window_page',
      frame: pageOf(window.last + 1, Math.min(size, window.last + n)),
      target: null,
    })
  }
  return { events, take, session, around, older, newer }
}

describe('a window apart from the live run', () => {
  it('shows the requested events, and leaves the live run unchanged', () => {
    const s = opened(1000, 900)
    const live = s.session().feed
    s.around(300, 40)
    expect([shownFeed(s.session()).first, shownFeed(s.session()).last]).toEqual([260, 340])
    expect(s.session().feed).toBe(live)
  })

  it('does not stop new events from being applied to the live run, and can be left at once', () => {
    const s = opened(1000, 900)
    s.around(300, 40)
    const next = s.events.slice(-1).map((e) => ({ ...e, seq: 1001 }))
    s.take({ kind: 'frame', frame: eventsFrame(next) })
    expect([s.session().feed.last, s.session().window?.last]).toEqual([1001, 340])
    s.take({ kind: 'live', sessionId })
    expect(shownFeed(s.session()).last).toBe(1001)
  })

  it('drops the page of a place the reader has left', () => {
    const s = opened(1000, 900)
    s.take({ kind: 'seek', sessionId, seq: 100 })
    s.take({ kind: 'seek', sessionId, seq: 500 })
    s.take({ kind: 'window_page', frame: loadedFrame(s.events.slice(80, 120)), target: 100 })
    expect([s.session().window, s.session().seeking]).toEqual([null, 500])
  })

  it('does not let a page requested before it extend the live run over it', () => {
    const s = opened(1000, 900)
    s.around(700, 40)
    s.take({ kind: 'frame', frame: { ...loadedFrame(s.events.slice(599, 899)), prepend: true } })
    expect(s.session().feed.first).toBe(900)
  })

  it('drops events far from the reader, on either side', () => {
    const s = opened(30_000, 29_900)
    s.around(15_000, 100)
    for (let i = 0; i < 6; i++) s.older(2400)
    expect(s.session().window!.items.length).toBeLessThanOrEqual(4000)
    expect([s.session().window!.first, s.session().window!.last < 15_100]).toEqual([500, true])
    for (let i = 0; i < 4; i++) s.newer(2000)
    expect(s.session().window!.items.length).toBeLessThanOrEqual(4000)
    expect(s.session().window!.first).toBeGreaterThan(500)
  })

  it('equals the fold of its events for any paging, and the fold of the whole log once joined', () => {
    const move = fc.record({
      way: fc.constantFrom('older', 'newer', 'seek'),
      n: fc.integer({ min: 1, max: 150 }),
    })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.array(move, { maxLength: 12 }), (first, moves) => {
        const s = opened(300, first)
        const right = () => {
          const shown = shownFeed(s.session())
          const whole = after(emptyFeed(shown.first - 1), s.events.slice(shown.first - 1, shown.last))
          expect([...shown.items]).toEqual([...whole.items])
          expect(new Map(shown.keyed)).toEqual(new Map(whole.keyed))
          expect(s.session().feed.last).toBe(300)
          expect(s.session().feed.count).toBe(301 - s.session().feed.first)
        }
        for (const { way, n } of moves) {
          if (way === 'seek') {
            s.around(n, 30)
            expect(isShown(s.session(), n)).toBe(true)
          } else s[way as 'older' | 'newer'](n)
        }
        right()
        while (s.session().window) s.newer(100)
        right()
      }),
      { numRuns: 25 },
    )
  })
})
