import { expect, test } from 'vitest'
import { Absence } from '../src/state/absence'
import { initial, reduce, type AppState } from '../src/state/app'
import { catchUp } from '../src/state/catchup'
import type { ServerMessage, SessionInfo } from '../src/wire/gen'
import { epoch, eventsFrame, loadedFrame, Script, sessionId } from './support/script'

const minute = 60_000
const script = new Script().say('m', 'one', 'two', 'three', 'four', 'five')
const left = (seq: number, at = 0) => ({ epoch, seq, at })

/** The session with its first `events` events loaded. The connection is open and the list is loaded. */
function shown(events: number, line: Partial<SessionInfo> = {}): AppState {
  let state = reduce(initial, { kind: 'open', sessionId })
  state = reduce(state, { kind: 'link', link: { phase: 'open', since: 0 } })
  const info = { session_id: sessionId, epoch, max_seq: events, ...line } as SessionInfo
  state = reduce(state, { kind: 'listed', sessions: [info] })
  return reduce(state, { kind: 'frame', frame: loadedFrame(script.events.slice(0, events)) })
}

test('after an absence of more than a minute the new events are reported once', () => {
  const absence = new Absence(sessionId, left(2))
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
  expect(absence.look(shown(5), 3 * minute, true)).toBeNull()
})

test('an absence within a minute, or one without new events, is not reported', () => {
  expect(new Absence(sessionId, left(2)).look(shown(5), minute, true)).toBeNull()
  expect(new Absence(sessionId, left(5)).look(shown(5), 2 * minute, true)).toBeNull()
  expect(new Absence(sessionId, null).look(shown(5), 2 * minute, true)).toBeNull()
})

test('an absence is decided only when the newest event is loaded and the page is looked at', () => {
  const absence = new Absence(sessionId, left(2))
  const gap = reduce(shown(3), { kind: 'frame', frame: eventsFrame(script.events.slice(4)) })
  expect(absence.look(gap, 2 * minute, true)).toBeNull()
  const asleep = reduce(shown(5), { kind: 'link', link: { phase: 'checking', since: 0 } })
  expect(absence.look(asleep, 2 * minute, true)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, false)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
})

test('an absence is not decided before the hub has sent the end of the session', () => {
  const absence = new Absence(sessionId, left(2))
  const back = reduce(shown(2), { kind: 'leave', sessionId })
  expect(absence.look(back, 2 * minute, true)).toBeNull()
  const answered = reduce(back, { kind: 'frame', frame: loadedFrame(script.events.slice(2, 5)) })
  expect(absence.look(answered, 2 * minute, true)).toEqual(left(2))
  expect(absence.unread.seq).toBe(3)
})

test('an absence is not decided by events the app still holds of an earlier visit', () => {
  const absence = new Absence(sessionId, left(2))
  expect(absence.look(shown(2, { max_seq: 5 }), 2 * minute, true)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
  expect(absence.unread.seq).toBe(3)
})

test('events read on another screen were not missed, but the read mark that this screen sends does not count', () => {
  const elsewhere = new Absence(sessionId, left(2))
  expect(elsewhere.look(shown(5, { read_seq: 5 }), 2 * minute, true)).toBeNull()

  const here = new Absence(sessionId, left(2))
  here.look(shown(5, { read_seq: 3 }), 2 * minute, false)
  expect(here.look(shown(5, { read_seq: 5 }), 2 * minute, true)).toEqual(left(3))
})

test('a device without a read mark takes the unread part from the hub, and reports no absence', () => {
  const first = new Absence(sessionId, null)
  expect(first.look(shown(5, { read_seq: 2 }), 2 * minute, true)).toBeNull()
  expect(first.unread.seq).toBe(3)
})

test('an absence begins at the events shown when the person left', () => {
  const absence = new Absence(sessionId, null)
  absence.look(shown(3), 0, true)
  absence.leave(shown(3), minute)
  expect(absence.look(shown(5), 3 * minute, true)).toEqual(left(3, minute))
})

/** The state with a connection whose phase began at `since`. */
const proven = (state: AppState, since: number, phase: 'open' | 'checking' = 'open') =>
  reduce(state, { kind: 'link', link: { phase, since } })

test('a clock jump of more than a minute in a visible page is an absence since the last look', () => {
  const absence = new Absence(sessionId, null)
  absence.look(shown(2), 1_000, true)
  absence.look(shown(3), 2_000, true)
  const woken = 2_000 + 2 * minute
  expect(absence.look(shown(3), woken, true), 'before the link is asked').toBeNull()
  expect(absence.look(proven(shown(4), woken, 'checking'), woken + 10, true)).toBeNull()
  expect(absence.look(proven(shown(5), woken + 20), woken + 20, true)).toEqual(left(3, 2_000))
  expect(absence.unread.seq).toBe(4)
  expect(absence.look(proven(shown(5), woken + 20), woken + 30, true)).toBeNull()
})

test('events buffered during a sleep do not hide the absence', () => {
  const absence = new Absence(sessionId, null)
  absence.look(shown(2), 1_000, true)
  expect(absence.look(shown(4), 2 * minute, true)).toBeNull()
  expect(absence.look(proven(shown(5), 2 * minute), 2 * minute + 20, true)).toEqual(left(2, 1_000))
})

test('neither a clock jump within a minute nor one of a hidden page is an absence', () => {
  const short = new Absence(sessionId, null)
  short.look(shown(3), 1_000, true)
  expect(short.look(proven(shown(5), minute), minute, true)).toBeNull()
  expect(short.unread.seq).toBeNull()

  const hidden = new Absence(sessionId, null)
  hidden.look(shown(2), 1_000, true)
  hidden.leave(shown(3), 2_000)
  hidden.look(shown(4), 10_000, false)
  expect(hidden.look(shown(5), 2 * minute, true)).toEqual(left(3, 2_000))
  expect(hidden.look(proven(shown(5), 2 * minute), 4 * minute, false)).toBeNull()
})

test('a list loaded over an earlier connection is not taken for the newest', () => {
  const connected = { type: 'connected', version: '1' } as ServerMessage
  expect(reduce(shown(3), { kind: 'frame', frame: connected }).listed).toBe(false)
})

test('after a change of epoch no absence is reported', () => {
  const absence = new Absence(sessionId, { ...left(2), epoch: 'fedcba9876543210' })
  expect(absence.look(shown(5), 2 * minute, true)).toBeNull()
})

test('the unread part begins where the person left, however short the absence', () => {
  const short = new Absence(sessionId, left(2))
  expect(short.unread.seq).toBeNull()
  short.look(shown(5), 1, true)
  expect(short.unread.seq).toBe(3)

  const nothing = new Absence(sessionId, left(5))
  nothing.look(shown(5), 1, true)
  expect(nothing.unread.seq).toBeNull()
})

test('if the hub no longer keeps the events after the person’s place, the report says that events are gone', () => {
  const absence = new Absence(sessionId, left(1))
  const before = shown(1, { max_seq: 5 })
  const state = reduce(before, {
    kind: 'frame',
    frame: loadedFrame(script.events.slice(3), {
      verdict: 'reset',
      reason: 'min_seq',
      min_seq: 4,
      prepend: true,
    }),
  })
  const session = state.sessions.get(sessionId)!
  expect(session.reset).toEqual({ reason: 'min_seq' })
  expect(absence.look(state, 2 * minute, true)).toEqual(left(1))
  expect(catchUp(session, left(1))).toMatchObject({ events: 4, removed: 2, first: 4, whole: false })
  expect(absence.unread.seq).toBe(4)
  absence.unread.see(4, 5)
  absence.unread.see(5, 5)
  expect(absence.unread.seq).toBeNull()
})
