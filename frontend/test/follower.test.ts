import 'fake-indexeddb/auto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventCache } from '../src/net/cache'
import { Database } from '../src/net/db'
import { Follower } from '../src/net/follower'
import { Requests } from '../src/net/requests'
import { Store } from '../src/state/store'
import type { ClientMessage, ServerMessage, SessionInfo } from '../src/wire/gen'
import { epoch, eventsFrame, loadedFrame, Script, sessionId, stateFrame } from './support/script'
import { until } from './support/until'
import { count, inStore } from './support/instore'

const events = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'go' })
  .say('m', ...'abcdefghijklmnopqr').events
const range = (from: number, to: number) => events.slice(from - 1, to)

class FakeStorage {
  readonly items = new Map<string, string>()
  getItem = (key: string) => this.items.get(key) ?? null
  setItem = (key: string, value: string) => void this.items.set(key, value)
}

let name = 0
let db: Database
let storage: Storage
beforeEach(() => {
  db = new Database(`follower${name++}`)
  storage = new FakeStorage() as unknown as Storage
})

afterEach(() => void vi.useRealTimers())

/** A page: its state, its cache and the messages it sent. */
function page(connected = true) {
  const link = { connected }
  const store = new Store()
  const sent: ClientMessage[] = []
  const requests = new Requests()
  const cache = new EventCache(db, storage)
  const follower = new Follower(store, requests, (m) => link.connected && sent.push(m) > 0, cache)
  const frame = (f: ServerMessage) => {
    if (f.type === 'events_loaded') requests.settle((sent.at(-1) as { request_id?: string }).request_id)
    follower.frame(f)
    follower.ask()
  }
  const session = () => store.state.sessions.get(sessionId)!
  const text = () => [...session().feed.items].flatMap((i) => (i.kind === 'text' ? [i.text] : [])).join('|')
  return { store, sent, link, requests, follower, cache, frame, session, text }
}

describe('following', () => {
  it('begins with the newest page, which the connection’s address asks for', () => {
    const p = page()
    p.follower.follow(sessionId)
    expect(p.follower.url('ws://h')).toBe(`ws://h/api/sessions/${sessionId}/ws?tail=100&merge=true`)
    expect(p.sent).toMatchObject([{ type: 'observe', tail: 100 }])
  })

  it('asks again for a session the hub could not open, after the time the hub said, while it is followed', () => {
    vi.useFakeTimers()
    const p = page()
    p.follower.follow(sessionId)
    p.follower.shut(sessionId, 'it took too long', 2_000)
    expect(p.session().shut).toBe('it took too long')
    vi.advanceTimersByTime(1_999)
    expect(p.sent.length).toBe(1)
    vi.advanceTimersByTime(1)
    expect(p.sent).toMatchObject([{ type: 'observe' }, { type: 'observe', tail: 100 }])
    p.follower.shut(sessionId, 'it took too long', 2_000)
    p.frame(loadedFrame(range(1, 5)))
    expect(p.session().shut).toBeNull()
    vi.advanceTimersByTime(60_000)
    p.follower.shut(sessionId, 'its log is damaged')
    vi.advanceTimersByTime(60_000)
    expect(p.sent.length, 'open, or never to be asked again').toBe(2)
    vi.useRealTimers()
  })

  it('connects without a session while the hub cannot open it, and asks after the time the hub said last', () => {
    vi.useFakeTimers()
    const p = page()
    p.follower.follow(sessionId)
    p.follower.shut(sessionId, 'it took too long', 2_000)
    expect(p.follower.url('ws://h')).toBe('ws://h/api/ws')
    p.follower.shut(sessionId, 'it took too long', 5_000)
    vi.advanceTimersByTime(4_999)
    expect(p.sent.length).toBe(1)
    vi.advanceTimersByTime(1)
    expect(p.sent.length).toBe(2)
    vi.useRealTimers()
  })

  it('keeps the four sessions looked at last', () => {
    const p = page()
    const ids = Array.from({ length: 7 }, (_, i) => `20260221-140307-0000000${i}`)
    for (const id of ids) p.follower.follow(id)
    expect([...p.store.state.sessions.keys()]).toEqual(ids.slice(-4))
  })

  it('goes on from the cursor after any number of events', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 5)))
    p.frame(eventsFrame(range(6, 9)))
    expect(p.follower.url('ws://h')).toContain(`after_seq=9&epoch=${epoch}`)
  })

  it('asks once for the events missing in a gap', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 5)))
    p.frame(eventsFrame(range(8, 9)))
    p.frame(eventsFrame(range(10, 10)))
    const asked = p.sent.filter((m) => m.type === 'load_events')
    expect(asked).toMatchObject([{ after_seq: 5, epoch }])
    p.frame(loadedFrame(range(6, 7)))
    expect(p.session().feed.last).toBe(10)
  })

  it('follows anew if the epoch differs, and applies the reset', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 5)))
    p.frame({ ...eventsFrame(range(6, 7)), epoch: 'ffffffffffffffff' })
    expect(p.sent.at(-1)).toMatchObject({ type: 'observe', after_seq: 5, epoch })
    p.frame(loadedFrame(range(1, 3), { verdict: 'reset', reason: 'epoch', epoch: 'ffffffffffffffff' }))
    expect([p.session().feed.last, p.session().epoch]).toEqual([3, 'ffffffffffffffff'])
  })

  it('asks once to follow anew, also if the first attempt could not be sent', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 5)))
    const other = { ...eventsFrame(range(6, 7)), epoch: 'ffffffffffffffff' }
    p.link.connected = false
    p.frame(other)
    p.link.connected = true
    for (let i = 0; i < 3; i++) p.frame(other)
    expect(p.sent.map((m) => m.type)).toEqual(['observe', 'observe'])
  })

  it('gives up looking for a request after twenty pages, and begins again with the next visit', () => {
    const long = new Script().say('m', ...Array.from({ length: 60 }, String)).events
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(long.slice(59), { has_more: true }))
    p.frame(stateFrame({ at_seq: 60, pending_permissions: ['perm'] }))
    const asked = () => p.sent.filter((m) => m.type === 'load_events').length
    const answer = () => {
      const { first } = p.session().feed
      p.frame(loadedFrame(long.slice(first - 2, first - 1), { prepend: true, max_seq: 60 }))
    }
    for (let i = 0; i < 30; i++) answer()
    expect(asked()).toBe(20)
    p.follower.follow(null)
    p.follower.follow(sessionId)
    p.follower.ask()
    expect(asked()).toBe(21)
  })

  it('loads older pages to find a waiting permission request', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(10, 12), { has_more: true }))
    p.frame(stateFrame({ at_seq: 12, pending_permissions: ['perm'] }))
    expect(p.sent.at(-1)).toMatchObject({ type: 'load_events', before_seq: 10 })
  })

  it('ends the following of one session when another is opened, and continues it on return', () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 5)))
    p.follower.follow('20260221-140307-00000000')
    expect(p.sent.slice(-2)).toMatchObject([
      { type: 'unobserve', session_id: sessionId },
      { type: 'observe', tail: 100 },
    ])
    p.follower.follow(sessionId)
    expect(p.sent.at(-1)).toMatchObject({ type: 'observe', after_seq: 5 })
  })

  it('asks for nothing if the connection’s address already named the place', () => {
    const p = page()
    p.follower.follow(sessionId)
    const before = p.sent.length
    p.follower.adopted(p.follower.url('ws://h'))
    expect(p.sent.length).toBe(before)
    p.follower.adopted('ws://h/api/ws')
    expect(p.sent.at(-1)).toMatchObject({ type: 'observe' })
  })
})

describe('the event cache', () => {
  async function visited(): Promise<void> {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(2, 5)))
    p.frame(eventsFrame(range(6, 9)))
    await p.cache.flush()
  }

  it('lets the next visit connect with the last visit’s cursor, before the database is read', async () => {
    await visited()
    const p = page()
    p.follower.follow(sessionId)
    expect(p.follower.url('ws://h')).toContain(`after_seq=9&epoch=${epoch}`)
    // Frames that arrive before the database answers are held.
    p.frame(loadedFrame([], { first_seq: 10, last_seq: 9, max_seq: 12 }))
    p.frame(eventsFrame(range(10, 12)))
    expect(p.session().status).toBe('loading')
    await until(() => expect(p.session().status).toBe('ready'))
    expect([p.session().feed.first, p.session().feed.last, p.text()]).toEqual([2, 12, 'abcdefghijk'])
  })

  it('shows its events without a hub', async () => {
    await visited()
    const p = page(false)
    p.follower.follow(sessionId)
    await until(() => expect(p.text()).toBe('abcdefgh'))
  })

  it('can be written by two tabs that split the events at different places', async () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(2, 5)))
    await p.cache.flush()
    const q = page()
    q.follower.follow(sessionId)
    await until(() => expect(q.session().status).toBe('ready'))
    q.frame(eventsFrame(range(6, 7)))
    await q.cache.flush()
    p.frame(eventsFrame(range(6, 9)))
    await p.cache.flush()
    q.frame(eventsFrame(range(8, 9)))
    await q.cache.flush()
    expect(await db.use(count('pages'))).toBe(4)

    const next = page(false)
    next.follower.follow(sessionId)
    await until(() => expect(next.text()).toBe('abcdefgh'))
  })

  it('of an older version of the app is deleted, but its outbox is kept', async () => {
    const name = 'older'
    await new Promise<void>((resolve, reject) => {
      const asked = indexedDB.open(name, 1)
      asked.onupgradeneeded = () => {
        asked.result.createObjectStore('outbox', { keyPath: 'item.id' }).put({ item: { id: 'kept' } })
        asked.result.createObjectStore('runs', { keyPath: 'sessionId' })
        asked.result.createObjectStore('events', { keyPath: ['sessionId', 'seq'] })
      }
      asked.onsuccess = () => (asked.result.close(), resolve())
      asked.onerror = () => reject(asked.error!)
    })
    const now = new Database(name)
    expect(await now.use(count('outbox'))).toBe(1)
    expect(await now.use((h) => Promise.resolve([...h.db.objectStoreNames]))).toEqual([
      'outbox',
      'pages',
      'runs',
    ])
  })

  it('that lost its events makes the session load anew', async () => {
    await visited()
    await db.use(inStore('pages', (s) => s.clear()))
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame([], { first_seq: 10, last_seq: 9, max_seq: 12 }))
    p.frame(eventsFrame(range(10, 12)))
    await until(() => expect(p.sent.at(-1)).toMatchObject({ type: 'observe', tail: 100 }))
    p.frame(loadedFrame(range(3, 12)))
    expect([p.session().feed.first, p.session().feed.last]).toEqual([3, 12])
    expect(p.cache.hint(sessionId)).toBeNull()
  })

  it('that finishes loading for a session left meanwhile sends nothing for the next session', async () => {
    await visited()
    await db.use(inStore('pages', (s) => s.clear()))
    const p = page()
    p.follower.follow(sessionId)
    p.follower.follow('20260221-140307-00000000')
    await db.use(count('pages')) // runs after the earlier reads
    await new Promise((later) => setTimeout(later, 20))
    expect(p.sent.filter((m) => m.type === 'observe' && m.session_id !== sessionId)).toHaveLength(1)
  })

  it('with another epoch than its hint is not shown', async () => {
    await visited()
    await db.use(
      inStore('runs', async (s) => s.put({ ...(await s.get(sessionId))!, epoch: 'ffffffffffffffff' })),
    )
    const p = page()
    p.follower.follow(sessionId)
    await until(() => expect(p.sent.at(-1)).toMatchObject({ type: 'observe', tail: 100 }))
    expect(p.session().status).toBe('loading')
  })

  it('is replaced by a reset, also one that comes while it is read', async () => {
    await visited()
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 3), { verdict: 'reset', reason: 'epoch', epoch: 'ffffffffffffffff' }))
    await until(() => expect(p.session().epoch).toBe('ffffffffffffffff'))
    expect(p.session().feed.last).toBe(3)
    await p.cache.flush()
    expect(p.cache.hint(sessionId)).toEqual({ epoch: 'ffffffffffffffff', first: 1, last: 3 })
  })

  it('keeps no run with a hole in it', async () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 3)))
    p.frame(eventsFrame(range(6, 7)))
    await p.cache.flush()
    expect(p.cache.hint(sessionId)).toBeNull()
  })

  it('forgets a session that is gone', async () => {
    await visited()
    const p = page()
    p.follower.follow(sessionId)
    await until(() => expect(p.session().status).toBe('ready'))
    p.frame({ type: 'session_gone', session_id: sessionId })
    expect(p.cache.hint(sessionId)).toBeNull()
    await until(async () => expect(await db.use(count('pages'))).toBe(0))
  })

  it('begins anew with a session that is back', async () => {
    const p = page()
    p.follower.follow(sessionId)
    p.frame(loadedFrame(range(1, 3)))
    expect(p.session().status).toBe('ready')
    p.frame({ type: 'session_gone', session_id: sessionId })
    expect(p.session().status).toBe('gone')
    p.frame({ type: 'session', session: { session_id: sessionId } as SessionInfo })
    expect(p.session().status).toBe('loading')
    p.frame(loadedFrame(range(1, 3)))
    expect(p.session().status).toBe('ready')
  })
})
