import { expect, test } from 'vitest'
import { Absence } from '../src/state/absence'
import { initial, reduce, type AppState } from '../src/state/app'
import { catchUp } from '../src/state/catchup'
import type { ServerMessage, SessionInfo } from '../src/wire/gen'
import { epoch, eventsFrame, loadedFrame, Script, sessionId } from './support/script'

const minute = 60_000
const script = new Script().say('m', 'one', 'two', 'three', 'four', 'five')
const left = (seq: number, at = 0) => ({ epoch, seq, at })

/** The session with its first events loaded, on an open link whose list is here. */
function shown(events: number, line: Partial<SessionInfo> = {}): AppState {
  let state = reduce(initial, { kind: 'open', sessionId })
  state = reduce(state, { kind: 'link', link: { phase: 'open', since: 0 } })
  const info = { session_id: sessionId, epoch, max_seq: events, ...line } as SessionInfo
  state = reduce(state, { kind: 'listed', sessions: [info] })
  return reduce(state, { kind: 'frame', frame: loadedFrame(script.events.slice(0, events)) })
}

test('a person who was away for more than a minute is told once what came since', () => {
  const absence = new Absence(sessionId, left(2))
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
  expect(absence.look(shown(5), 3 * minute, true)).toBeNull()
})

test('nobody is told of what came within a minute, or of nothing', () => {
  expect(new Absence(sessionId, left(2)).look(shown(5), minute, true)).toBeNull()
  expect(new Absence(sessionId, left(5)).look(shown(5), 2 * minute, true)).toBeNull()
  expect(new Absence(sessionId, null).look(shown(5), 2 * minute, true)).toBeNull()
})

test('it is decided only when the newest is here and somebody looks', () => {
  const absence = new Absence(sessionId, left(2))
  const gap = reduce(shown(3), { kind: 'frame', frame: eventsFrame(script.events.slice(4)) })
  expect(absence.look(gap, 2 * minute, true)).toBeNull()
  const asleep = reduce(shown(5), { kind: 'link', link: { phase: 'checking', since: 0 } })
  expect(absence.look(asleep, 2 * minute, true)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, false)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
})

test('it is not decided before the hub has said where a session ends that they come back to', () => {
  const absence = new Absence(sessionId, left(2))
  const back = reduce(shown(2), { kind: 'leave', sessionId })
  expect(absence.look(back, 2 * minute, true)).toBeNull()
  const answered = reduce(back, { kind: 'frame', frame: loadedFrame(script.events.slice(2, 5)) })
  expect(absence.look(answered, 2 * minute, true)).toEqual(left(2))
  expect(absence.unread.seq).toBe(3)
})

test('it is not decided by what the app still held of an earlier visit', () => {
  const absence = new Absence(sessionId, left(2))
  expect(absence.look(shown(2, { max_seq: 5 }), 2 * minute, true)).toBeNull()
  expect(absence.look(shown(5), 2 * minute, true)).toEqual(left(2))
  expect(absence.unread.seq).toBe(3)
})

test('what was read on another screen was not missed, and what this screen reads itself does not count as that', () => {
  const elsewhere = new Absence(sessionId, left(2))
  expect(elsewhere.look(shown(5, { read_seq: 5 }), 2 * minute, true)).toBeNull()

  const here = new Absence(sessionId, left(2))
  here.look(shown(5, { read_seq: 3 }), 2 * minute, false)
  expect(here.look(shown(5, { read_seq: 5 }), 2 * minute, true)).toEqual(left(3))
})

test('a device that has nothing of a session takes from the hub what is unread, and was not away', () => {
  const first = new Absence(sessionId, null)
  expect(first.look(shown(5, { read_seq: 2 }), 2 * minute, true)).toBeNull()
  expect(first.unread.seq).toBe(3)
})

test('leaving counts from what was shown then', () => {
  const absence = new Absence(sessionId, null)
  absence.look(shown(3), 0, true)
  absence.leave(shown(3), minute)
  expect(absence.look(shown(5), 3 * minute, true)).toEqual(left(3, minute))
})

/** The state, its link having been proven at `since`. */
const proven = (state: AppState, since: number, phase: 'open' | 'checking' = 'open') =>
  reduce(state, { kind: 'link', link: { phase, since } })

test('a clock that jumped by more than a minute is an absence from when they last looked, with the page in front', () => {
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

test('events that were buffered in the sleep do not hide it', () => {
  const absence = new Absence(sessionId, null)
  absence.look(shown(2), 1_000, true)
  expect(absence.look(shown(4), 2 * minute, true)).toBeNull()
  expect(absence.look(proven(shown(5), 2 * minute), 2 * minute + 20, true)).toEqual(left(2, 1_000))
})

test('a jump within a minute is no absence, nor is the clock of a page nobody looked at', () => {
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

test('what a screen asked for over an earlier connection is not the newest of the next', () => {
  const connected = { type: 'connected', version: '1' } as ServerMessage
  expect(reduce(shown(3), { kind: 'frame', frame: connected }).listed).toBe(false)
})

test('another history of the session has nothing to compare', () => {
  const absence = new Absence(sessionId, { ...left(2), epoch: 'fedcba9876543210' })
  expect(absence.look(shown(5), 2 * minute, true)).toBeNull()
})

test('what is unread begins where they left, however short they were away', () => {
  const short = new Absence(sessionId, left(2))
  expect(short.unread.seq).toBeNull()
  short.look(shown(5), 1, true)
  expect(short.unread.seq).toBe(3)

  const nothing = new Absence(sessionId, left(5))
  nothing.look(shown(5), 1, true)
  expect(nothing.unread.seq).toBeNull()
})

test('a person whose place the hub no longer keeps is told that events are gone, not that nothing was missed', () => {
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
