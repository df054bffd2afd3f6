// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { EventCache } from '../src/net/cache'
import { Database } from '../src/net/db'
import { KeptList } from '../src/net/keptlist'
import { Marks } from '../src/net/marks'
import { initial, reduce, type AppState } from '../src/state/app'
import { epoch, loadedFrame, Script, sessionId } from './support/script'

const script = new Script().say('m', 'one', 'two', 'three', 'four', 'five')
const noon = Date.UTC(2026, 1, 21, 12)

beforeEach(() => localStorage.clear())

/** The app with the session open and its first `events` events loaded. */
function held(events: number, over: { session_id?: string; epoch?: string } = {}): AppState {
  const state = reduce(initial, { kind: 'open', sessionId: over.session_id ?? sessionId })
  return reduce(state, { kind: 'frame', frame: loadedFrame(script.events.slice(0, events), over) })
}

/** The mark that a page opened later on this device reads. */
const later = (id = sessionId) => new Marks(localStorage).left(id)

test('events that arrive in a page that is not looked at set no mark', () => {
  const marks = new Marks(localStorage)
  marks.note(held(5), noon, null)
  marks.flush(true)
  expect(marks.left(sessionId)).toBeNull()
  expect(later()).toBeNull()
})

test('the mark of a session is known to the next page', () => {
  const marks = new Marks(localStorage)
  marks.note(held(3), noon, sessionId)
  marks.note(held(5), noon + 1000, null)
  marks.flush()
  expect(later()).toEqual({ epoch, seq: 3, at: noon })
})

test('a tab without a mark for a session keeps the mark another tab wrote', () => {
  const one = new Marks(localStorage)
  const two = new Marks(localStorage)
  one.note(held(4), noon, sessionId)
  one.flush()
  const other = '20260221-150000-00000001'
  two.note(held(2, { session_id: other }), noon, other)
  two.flush(true)
  expect(later()).toEqual({ epoch, seq: 4, at: noon })
  expect(later(other)).toEqual({ epoch, seq: 2, at: noon })
})

test('a tab that is behind never lowers a mark, and gets the higher mark at once', () => {
  const ahead = new Marks(localStorage)
  const behind = new Marks(localStorage)
  behind.note(held(2), noon - 5000, sessionId)
  ahead.note(held(5), noon, sessionId)
  ahead.flush(true)
  behind.flush(true)
  expect(later()).toEqual({ epoch, seq: 5, at: noon })
  expect(behind.left(sessionId)).toEqual({ epoch, seq: 5, at: noon })
})

test('a mark of an earlier epoch does not replace one of the next', () => {
  const stale = new Marks(localStorage)
  stale.note(held(5), noon - 5000, sessionId)
  const next = { epoch: 'fedcba9876543210' }
  const fresh = new Marks(localStorage)
  fresh.note(held(2, next), noon, sessionId)
  fresh.flush(true)
  stale.flush(true)
  expect(later()).toEqual({ ...next, seq: 2, at: noon })
})

test('the device keeps the two hundred sessions seen last', () => {
  for (let i = 0; i < 205; i++) {
    const id = `20260221-150000-${String(i).padStart(8, '0')}`
    const marks = new Marks(localStorage)
    marks.note(held(1, { session_id: id }), noon + i, id)
    marks.flush()
  }
  expect(localStorage.length).toBe(200)
  expect(later('20260221-150000-00000204')).not.toBeNull()
  expect(later('20260221-150000-00000004')).toBeNull()
})

test('the mark of a session this page holds is kept, however old it is', () => {
  const marks = new Marks(localStorage)
  marks.note(held(3), noon - 1e9, sessionId)
  marks.flush()
  for (let i = 0; i < 200; i++) {
    localStorage.setItem(`abide.mark.other-${i}`, JSON.stringify({ epoch, seq: 1, seen: 1, at: noon + i }))
  }
  marks.note(held(1, { session_id: 'fresh' }), noon, 'fresh')
  marks.flush()
  expect(later()).toEqual({ epoch, seq: 3, at: noon - 1e9 })
})

test('an unchanged mark is not written again, except when the page is hidden', () => {
  const marks = new Marks(localStorage)
  marks.note(held(3), noon, sessionId)
  marks.flush()
  marks.note(held(3), noon + 1000, sessionId)
  marks.flush()
  expect(later()?.at).toBe(noon)
  marks.flush(true)
  expect(later()?.at).toBe(noon + 1000)
})

const broken = [
  'no json',
  'null',
  '7',
  '[]',
  '"text"',
  '{}',
  '{"epoch":1,"seq":2,"seen":2,"at":5}',
  '{"epoch":"e","seq":null,"seen":"2","at":5}',
  '{"epoch":"e","seq":1.5,"seen":-2,"at":5}',
]

test.each(broken)('a malformed mark is ignored: %s', (text) => {
  localStorage.setItem(`abide.mark.${sessionId}`, text)
  expect(later()).toBeNull()
})

test.each([
  ...broken,
  `{"${sessionId}":${broken[5]}}`,
  `{"${sessionId}":{"epoch":"e","first":1}}`,
  `{"${sessionId}":{"epoch":"e","first":1,"last":"9"}}`,
])('a hint of the event cache that is none never becomes a place to dial from: %s', (text) => {
  localStorage.setItem('abide.cache', text)
  expect(new EventCache(new Database('marks'), localStorage).hint(sessionId)).toBeNull()
})

test.each(['{"a":1}', '[null,7,{},{"session_id":"x"}]'])(
  'lines of a kept list that are none are left out: %s',
  (text) => {
    localStorage.setItem('abide.list', text)
    expect(new KeptList(localStorage).read() ?? []).toEqual([])
  },
)
