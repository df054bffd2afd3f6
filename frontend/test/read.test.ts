import { expect, test } from 'vitest'
import { Attention } from '../src/net/attention'
import { FirstUnread, newest, unread } from '../src/state/read'
import { Store } from '../src/state/store'
import type { ClientMessage, SessionInfo } from '../src/wire/gen'
import { epoch, loadedFrame, Script, sessionId } from './support/script'

const line = (over: Partial<SessionInfo> = {}) =>
  ({ session_id: sessionId, epoch, max_seq: 10, ...over }) as SessionInfo
const own = { epoch, seq: 5, at: 1_000 }

test('events read on another screen are read here', () => {
  expect(newest(own, line({ read_seq: 8 }), 9_000)).toEqual({ epoch, seq: 8, at: 1_000 })
  expect(unread(line({ read_seq: 8 }), newest(own, line({ read_seq: 8 }), 9_000))).toBe(2)
})

test('events read here stay read before the hub has acknowledged it', () => {
  expect(newest(own, line({ read_seq: 3 }), 9_000)).toBe(own)
  expect(newest(own, line(), 9_000)).toBe(own)
  expect(newest(own, undefined, 9_000)).toBe(own)
})

test('a device that never opened a session takes the mark of the hub, and reports no absence', () => {
  expect(newest(null, line({ read_seq: 8 }), 9_000)).toEqual({ epoch, seq: 8, at: 9_000 })
})

test('a mark of another epoch is ignored', () => {
  const old = { ...own, epoch: 'fedcba9876543210', seq: 99 }
  expect(unread(line(), old)).toBe(0)
  expect(newest(old, line({ read_seq: 2 }), 9_000)?.seq).toBe(2)
})

test('a session that was never opened is unread from its start', () => {
  const made = line({ read_seq: 0, created_at: '2026-02-21T14:03:07Z' })
  expect(newest(null, made, 9_000)).toEqual({ epoch, seq: 0, at: Date.parse(made.created_at) })
  expect(unread(made, newest(null, made, 9_000))).toBe(10)
  expect(unread(made, newest(own, made, 9_000)), 'what this device knows better counts').toBe(5)
})

test('without a read mark from the hub nothing is unread', () => {
  expect(unread(line(), newest(null, line(), 9_000))).toBe(0)
})

test('a screen sends no read mark before it knows those of other screens', () => {
  const store = new Store()
  const sent: ClientMessage[] = []
  const attention = new Attention(
    store,
    () => sessionId,
    (message) => (sent.push(message), true),
    () => true,
  )
  store.dispatch({ kind: 'listed', sessions: [line()] }) // the list kept from the last visit
  store.dispatch({ kind: 'open', sessionId })
  store.dispatch({ kind: 'link', link: { phase: 'open', since: 0 } })
  store.dispatch({ kind: 'frame', frame: loadedFrame(new Script().say('m', 'a', 'b').events) })
  attention.now()
  expect(sent).toEqual([])
  store.dispatch({ kind: 'listed', sessions: [line({ read_seq: 1 })] })
  attention.now()
  expect(sent).toEqual([{ type: 'ack', session_id: sessionId, epoch, seq: 2, visible: true }])
  store.dispatch({ kind: 'link', link: { phase: 'waiting', since: 0 } })
  expect(store.state.listed).toBe(false)
})

test('the first unread event stays marked until it was in view and then scrolled past', () => {
  const place = new FirstUnread()
  expect(place.seq).toBeNull()
  place.begin(50)
  place.see(80, 90) // at the end, where a session opens
  place.see(1, 10) // and at its beginning
  place.see(80, 90)
  expect(place.seq).toBe(50)
  place.begin(70) // a second absence: the unread part begins where it did
  expect(place.seq).toBe(50)
  place.see(45, 55)
  expect(place.seq).toBe(50)
  place.see(51, 60)
  expect(place.seq).toBeNull()
  place.begin(100)
  place.see(101, 110)
  expect(place.seq).toBe(100)
})

test('after a change of epoch the read mark is sent again, also if the seq is the same', () => {
  const store = new Store()
  const sent: ClientMessage[] = []
  const attention = new Attention(
    store,
    () => sessionId,
    (message) => (sent.push(message), true),
    () => true,
  )
  store.dispatch({ kind: 'link', link: { phase: 'open', since: 0 } })
  store.dispatch({ kind: 'listed', sessions: [line()] })
  store.dispatch({ kind: 'open', sessionId })
  const { events } = new Script().say('m', 'a', 'b')
  store.dispatch({ kind: 'frame', frame: loadedFrame(events) })
  attention.now()
  const other = 'fedcba9876543210'
  store.dispatch({
    kind: 'frame',
    frame: loadedFrame(events, { verdict: 'reset', reason: 'epoch', epoch: other }),
  })
  attention.now()
  attention.now()
  expect(sent.map((m) => m.type === 'ack' && [m.epoch, m.seq])).toEqual([
    [epoch, 2],
    [other, 2],
  ])
})
