import { expect, test } from 'vitest'
import { Attention } from '../src/net/attention'
import { newest, unread } from '../src/state/read'
import { Store } from '../src/state/store'
import type { ClientMessage, SessionInfo } from '../src/wire/gen'
import { epoch, loadedFrame, Script, sessionId } from './support/script'

const line = (over: Partial<SessionInfo> = {}) =>
  ({ session_id: sessionId, epoch, max_seq: 10, ...over }) as SessionInfo
const own = { epoch, seq: 5, at: 1_000 }

test('what was read on another screen is read here', () => {
  expect(newest(own, line({ read_seq: 8 }), 9_000)).toEqual({ epoch, seq: 8, at: 1_000 })
  expect(unread(line({ read_seq: 8 }), newest(own, line({ read_seq: 8 }), 9_000))).toBe(2)
})

test('what was read here before the hub heard of it stays read', () => {
  expect(newest(own, line({ read_seq: 3 }), 9_000)).toBe(own)
  expect(newest(own, line(), 9_000)).toBe(own)
  expect(newest(own, undefined, 9_000)).toBe(own)
})

test('a device that never saw a session takes the mark of the hub, and was not away', () => {
  expect(newest(null, line({ read_seq: 8 }), 9_000)).toEqual({ epoch, seq: 8, at: 9_000 })
})

test('a mark of another epoch counts for nothing', () => {
  const old = { ...own, epoch: 'fedcba9876543210', seq: 99 }
  expect(unread(line(), old)).toBe(0)
  expect(newest(old, line({ read_seq: 2 }), 9_000)?.seq).toBe(2)
})

test('where nobody ever looked nothing is unread', () => {
  expect(unread(line(), newest(null, line(), 9_000))).toBe(0)
})

test('a screen says nothing before it knows what was read on others', () => {
  const store = new Store()
  const sent: ClientMessage[] = []
  const attention = new Attention(
    store,
    () => sessionId,
    (message) => (sent.push(message), true),
    () => true,
  )
  store.dispatch({ kind: 'listed', sessions: [line()] }) // of the last visit
  store.dispatch({ kind: 'open', sessionId })
  store.dispatch({ kind: 'link', link: { phase: 'open', since: 0 } })
  store.dispatch({ kind: 'frame', frame: loadedFrame(new Script().say('m', 'a', 'b').events) })
  attention.now()
  expect(sent).toEqual([])
  store.dispatch({ kind: 'listed', sessions: [line({ read_seq: 1 })] })
  attention.now()
  expect(sent).toEqual([{ type: 'ack', session_id: sessionId, seq: 2, visible: true }])
  store.dispatch({ kind: 'link', link: { phase: 'waiting', since: 0 } })
  expect(store.state.listed).toBe(false)
})
