import { describe, expect, it } from 'vitest'
import { initial, reduce, type AppState } from '../src/state/app'
import { cursor, hasGap, hasOlder, missingPermissions, type SessionState } from '../src/state/session'
import type { ServerMessage, SessionInfo } from '../src/wire/gen'
import { epoch, eventsFrame, loadedFrame, Script, sessionId, stateFrame } from './support/script'

const script = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'go' })
  .say('m', ...'abcdefghijklmnopqr')
const events = script.events
const range = (from: number, to: number) => events.slice(from - 1, to)

function after(...frames: ServerMessage[]): SessionState {
  let state: AppState = reduce(initial, { kind: 'open', sessionId })
  for (const frame of frames) state = reduce(state, { kind: 'frame', frame })
  return state.sessions.get(sessionId)!
}

const text = (s: SessionState) =>
  [...s.feed.items].flatMap((i) => (i.kind === 'text' ? [i.text] : [])).join('|')

describe('a session that the hub still reads', () => {
  const reading = { type: 'reading', session_id: sessionId, at_seq: 40, max_seq: 100 } as const

  it('shows its events, and how far it was read, until its state is known', () => {
    const read = after(loadedFrame(range(1, 5)), reading)
    expect([text(read), read.reading]).toEqual(['abcd', 40])
    expect(after(loadedFrame(range(1, 5)), reading, stateFrame({})).reading).toBeNull()
  })
})

describe('the apply rule', () => {
  const start = loadedFrame(range(1, 5))

  it('moves the cursor with every event applied', () => {
    expect(cursor(after(start, eventsFrame(range(6, 9))))).toEqual({ epoch, seq: 9 })
  })

  it('drops events at or below the cursor', () => {
    const twice = after(start, eventsFrame(range(4, 7)), eventsFrame(range(6, 8)))
    expect(cursor(twice)?.seq).toBe(8)
    expect(text(twice)).toBe('abcdefg')
  })

  it('holds events beyond a gap until the gap is filled', () => {
    const gap = after(start, eventsFrame(range(8, 10)))
    expect([hasGap(gap), cursor(gap)?.seq]).toEqual([true, 5])
    const filled = after(start, eventsFrame(range(8, 10)), loadedFrame(range(6, 7)))
    expect([hasGap(filled), cursor(filled)?.seq, text(filled)]).toEqual([false, 10, 'abcdefghi'])
  })

  it('applies a merged run that begins right after the cursor', () => {
    const merged = {
      ...events[8]!,
      first_seq: 6,
      data: { message_id: 'm', text: 'efgh' },
    } as (typeof events)[0]
    const s = after(start, eventsFrame([merged]), eventsFrame(range(10, 10)))
    expect([cursor(s)?.seq, text(s)]).toEqual([10, 'abcdefghi'])
  })

  it('never applies part of a merged run twice', () => {
    const merged = {
      ...events[8]!,
      first_seq: 6,
      data: { message_id: 'm', text: 'efgh' },
    } as (typeof events)[0]
    const cut = after(start, eventsFrame(range(6, 7)), eventsFrame([merged]))
    expect([hasGap(cut), cursor(cut)?.seq]).toEqual([true, 7])
    const s = after(start, eventsFrame(range(6, 7)), eventsFrame([merged]), loadedFrame(range(8, 12)))
    expect([hasGap(s), cursor(s)?.seq, text(s)]).toEqual([false, 12, 'abcdefghijk'])
  })

  it('ignores events of another epoch and asks to follow anew', () => {
    const s = after(start, { ...eventsFrame(range(6, 7)), epoch: 'ffffffffffffffff' })
    expect([cursor(s)?.seq, s.stale]).toEqual([5, true])
  })
})

describe('a frame out of order', () => {
  const start = loadedFrame(range(1, 5))

  it('is not applied before the first page is loaded, and requests nothing', () => {
    const s = after(eventsFrame(range(6, 7)))
    expect([s.status, s.feed.count, s.stale]).toEqual(['loading', 0, false])
  })

  it('does not request to follow anew once the hub has answered with the same epoch', () => {
    const other = { ...eventsFrame(range(6, 7)), epoch: 'ffffffffffffffff' }
    const s = after(start, other, loadedFrame(range(6, 7)))
    expect([s.stale, cursor(s)?.seq]).toEqual([false, 7])
  })

  it('of the cache does not replace a page from the hub', () => {
    let state: AppState = reduce(initial, { kind: 'open', sessionId })
    state = reduce(state, { kind: 'frame', frame: start })
    state = reduce(state, { kind: 'cached', sessionId, epoch: 'ffffffffffffffff', events: range(1, 3) })
    expect(cursor(state.sessions.get(sessionId)!)).toEqual({ epoch, seq: 5 })
  })

  it('is held up to a limit, beyond which events are dropped and loaded again', () => {
    const long = new Script().say('m', ...Array.from({ length: 3_000 }, () => 'x')).events
    const gap = after(loadedFrame(long.slice(0, 1)), eventsFrame(long.slice(2)))
    expect(gap.held).toHaveLength(2_000)
    const filled = after(
      loadedFrame(long.slice(0, 1)),
      eventsFrame(long.slice(2)),
      loadedFrame(long.slice(1, 2)),
    )
    expect([cursor(filled)?.seq, filled.feed.count, hasGap(filled)]).toEqual([2_002, 2_002, false])
  })
})

describe('pages', () => {
  it('begin at the hub’s first_seq, with the cursor at their end', () => {
    const s = after(loadedFrame(range(10, 14), { has_more: true }))
    expect([cursor(s)?.seq, hasOlder(s), text(s)]).toEqual([14, true, 'ijklm'])
  })

  it('are prepended and join the message that was cut', () => {
    const s = after(loadedFrame(range(10, 14)), loadedFrame(range(5, 9), { prepend: true, max_seq: 14 }))
    expect([cursor(s)?.seq, s.feed.first, text(s)]).toEqual([14, 5, 'defghijklm'])
  })

  it('are ignored if they are not adjacent to the loaded events', () => {
    const s = after(loadedFrame(range(10, 14)), loadedFrame(range(3, 6), { prepend: true }))
    expect([s.feed.first, text(s)]).toEqual([10, 'ijklm'])
  })

  it('of a reset replace everything, and the reset is recorded', () => {
    const s = after(
      loadedFrame(range(1, 9)),
      eventsFrame(range(12, 13)),
      loadedFrame(range(2, 4), {
        verdict: 'reset',
        reason: 'ahead',
        epoch: 'ffffffffffffffff',
        prepend: true,
      }),
    )
    expect(cursor(s)).toEqual({ epoch: 'ffffffffffffffff', seq: 4 })
    expect([text(s), s.reset, hasGap(s)]).toEqual(['abc', { reason: 'ahead' }, false])
  })

  it('of an empty log put the cursor where the next event is the first', () => {
    const s = after(loadedFrame([], { first_seq: 1, last_seq: 0 }), eventsFrame(range(1, 2)))
    expect(cursor(s)?.seq).toBe(2)
  })
})

describe('state', () => {
  it('is held until the cursor reaches the events it reflects', () => {
    const early = stateFrame({ at_seq: 7, turn: { state: 'prompting' } })
    expect(after(loadedFrame(range(1, 5)), early).live).toBeNull()
    expect(after(loadedFrame(range(1, 5)), early, eventsFrame(range(6, 7))).live?.turn.state).toBe(
      'prompting',
    )
  })

  it('is replaced by the latest, also while held', () => {
    const s = after(
      loadedFrame(range(1, 5)),
      stateFrame({ at_seq: 7, turn: { state: 'prompting' } }),
      stateFrame({ at_seq: 8, turn: { state: 'idle' } }),
      eventsFrame(range(6, 8)),
    )
    expect(s.live?.turn.state).toBe('idle')
  })

  it('names pending permissions whose request is not loaded', () => {
    const s = after(loadedFrame(range(10, 14)), stateFrame({ at_seq: 14, pending_permissions: ['perm9'] }))
    expect(missingPermissions(s)).toEqual(['perm9'])
  })
})

it('a session that is gone is in no list', () => {
  const line = (session_id: string) =>
    ({ session_id, name: '', agent: 'demo', status: 'idle', workspace: '/w', updated_at: '' }) as SessionInfo
  let state = reduce(initial, { kind: 'listed', sessions: [line(sessionId), line('another')] })
  expect(state.list?.size).toBe(2)
  state = reduce(state, { kind: 'frame', frame: { type: 'session_gone', session_id: sessionId } })
  expect([...state.list!.keys()]).toEqual(['another'])
})

it('once a hub has another version than the page, the page stays marked as outdated', () => {
  const connected = (version: string) => ({ type: 'connected', version }) as ServerMessage
  let state = reduce(initial, { kind: 'frame', frame: connected('1') })
  state = reduce(state, { kind: 'frame', frame: connected('1') })
  expect(state.skew).toBe(false)
  for (const version of ['2', '2']) state = reduce(state, { kind: 'frame', frame: connected(version) })
  expect(state.skew).toBe(true)
})

it('a session the hub does not know is gone', () => {
  expect(after({ type: 'session_gone', session_id: sessionId }).status).toBe('gone')
})
