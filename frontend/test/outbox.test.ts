import 'fake-indexeddb/auto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Database } from '../src/net/db'
import { Journal } from '../src/net/journal'
import { Outbox } from '../src/net/outbox'
import { OutboxDB, type Locks } from '../src/net/outboxdb'
import { Requests } from '../src/net/requests'
import { deviceStorage } from '../src/net/storage'
import type { OutboxItem } from '../src/state/outboxitem'
import type { Message } from '../src/state/message'
import type { ClientMessage, ServerMessage } from '../src/wire/gen'
import { until } from './support/until'
import { inStore } from './support/instore'

/** A fake of the browser's Web Locks, as far as the outbox uses them. A tab's locks are released when it is killed. */
class FakeLocks {
  private readonly held = new Map<string, string>()
  private readonly waiting: { name: string; tab: string; run: () => unknown }[] = []
  private readonly ends = new Map<string, (() => void)[]>()

  of(tab: string): Locks {
    return {
      request: ((name: string, how: unknown, run: () => unknown = how as () => unknown) => {
        if (run !== how && this.held.has(name)) {
          return new Promise<void>((end) => this.ends.set(name, [...(this.ends.get(name) ?? []), end]))
        }
        if (this.held.has(name)) this.waiting.push({ name, tab, run })
        else {
          this.held.set(name, tab)
          run()
        }
        return new Promise(() => {})
      }) as Locks['request'],
      query: async () => ({ held: [...this.held.keys()].map((name) => ({ name })), pending: [] }),
    }
  }

  kill(tab: string): void {
    for (const [name, owner] of this.held) {
      if (owner !== tab) continue
      this.held.delete(name)
      for (const end of this.ends.get(name) ?? []) end()
    }
    for (const next of this.waiting.splice(0)) {
      if (next.tab !== tab) void this.of(next.tab).request(next.name, next.run as () => Promise<unknown>)
    }
  }
}

let name = 0
let db: Database
let device: Storage
let locks: FakeLocks
let now: number
beforeEach(() => {
  db = new Database(`test${name++}`)
  device = deviceStorage()
  device.clear()
  locks = new FakeLocks()
  now = 1_000_000
})

/** One tab: its outbox, the messages it sent and the items it showed. */
function tab(id: string, connected = true) {
  const sent: ClientMessage[] = []
  const shown = new Map<string, OutboxItem>()
  const problems: string[] = []
  const requests = new Requests()
  const storage = new OutboxDB(db, id, locks.of(id), new Journal(device))
  const link = { connected }
  const outbox = new Outbox(
    storage,
    requests,
    (m: Message) => {
      if (m.kind === 'outbox') shown.set(m.item.id, m.item)
      if (m.kind === 'outbox_done') shown.delete(m.id)
      if (m.kind === 'problem') problems.push(m.text)
    },
    (m) => link.connected && sent.push(m) > 0,
    () => Promise.reject(new Error('no files here')),
    () => now,
  )
  const answer = (frame: Partial<ServerMessage>) => {
    const request = sent.at(-1) as { request_id: string }
    const purpose = requests.settle(request.request_id)
    if (purpose?.kind === 'outbox') outbox.answered(purpose.id, frame as ServerMessage)
  }
  return { outbox, sent, shown, problems, storage, link, answer, requests }
}

const prompt = (id: string) => ({ id, sessionId: 's', kind: 'prompt' as const, text: 'go' })
const kept = () => db.use(inStore('outbox', (s) => s.getAllKeys()))

describe('the outbox', () => {
  it('stores before it sends, and forgets on the answer to the id', async () => {
    const t = tab('a')
    const put = t.storage.put.bind(t.storage)
    let sentBeforeStored = -1
    t.storage.put = async (item) => {
      await put(item)
      sentBeforeStored = t.sent.length
    }
    await t.outbox.add(prompt('p1'))
    expect(sentBeforeStored).toBe(0)
    expect(t.sent).toMatchObject([{ type: 'prompt', prompt_id: 'p1', session_id: 's', text: 'go' }])
    expect(t.shown.get('p1')?.status).toBe('sending')
    t.answer({ type: 'prompt_received', prompt_id: 'p1', seq: 7 })
    expect(t.shown.size).toBe(0)
    await until(async () => expect(await kept()).toEqual([]))
  })

  it('stops a turn only with the first sending of a prompt, on the connection the person saw', async () => {
    const t = tab('a')
    await t.outbox.add(prompt('p1'), true)
    t.outbox.resend()
    t.link.connected = false
    await t.outbox.add(prompt('p2'), true)
    t.link.connected = true
    t.outbox.resend()
    expect(t.sent.map((m) => m.type === 'prompt' && [m.prompt_id, m.when])).toEqual([
      ['p1', 'now'],
      ['p1', 'auto'],
      ['p1', 'auto'],
      ['p2', 'auto'],
    ])
  })

  it('sends the scope of a remembered answer and the time of a prompt only if they were chosen', async () => {
    const t = tab('a')
    const answer = { id: 'q', sessionId: 's', kind: 'answer' as const, text: '', optionId: 'once' }
    await t.outbox.add(answer)
    await t.outbox.add({ ...answer, id: 'r', remember: 'session', seenSeq: 44 })
    await t.outbox.add({ ...prompt('p'), scheduledAt: '2026-02-21T15:00:00Z' })
    expect(t.sent).toMatchObject([
      { permission_id: 'q' },
      { permission_id: 'r', remember: 'session', seen_seq: 44 },
      { prompt_id: 'p', scheduled_at: '2026-02-21T15:00:00Z' },
    ])
    expect(t.sent[0]).not.toHaveProperty('remember')
  })

  it('keeps and reports the text of a prompt whose session was deleted, until it is told to forget it', async () => {
    const t = tab('a')
    await t.outbox.add(prompt('p1'))
    t.answer({ type: 'session_gone', session_id: 's' })
    expect(t.shown.get('p1')).toMatchObject({ status: 'failed', text: 'go' })
    expect(t.problems).toEqual(['“go” was not asked: its session was deleted. The words are kept at /s/s.'])
    await t.outbox.add({ ...prompt('p2'), sessionId: 'other' })
    t.outbox.forget('s')
    expect([...t.shown.keys()]).toEqual(['p2'])
    await until(async () => expect(await kept()).toEqual(['p2']))
  })

  it('keeps an item without a connection and sends it with the same id on a new one', async () => {
    const t = tab('a', false)
    await t.outbox.add(prompt('p1'))
    expect([t.sent.length, t.shown.get('p1')?.status]).toEqual([0, 'queued'])
    t.link.connected = true
    t.outbox.resend()
    t.requests.clear() // the socket closed without an answer
    t.outbox.resend()
    expect(t.sent.map((m) => (m as { prompt_id: string }).prompt_id)).toEqual(['p1', 'p1'])
  })

  it('asks before it sends an item without a valid time, and ignores malformed items', async () => {
    const records = [
      { id: 'x1', kind: 'prompt', sessionId: 's', text: 'old words' },
      { id: 'x2', kind: 'prompt', sessionId: 's', text: 'old words', status: 'failed' },
      { id: 'x3', kind: 'prompt', sessionId: 's', text: 'from ahead', createdAt: now * 9, status: 'queued' },
      { id: 'x4', kind: 'prompt', sessionId: 's', text: { not: 'words' }, createdAt: now },
      { id: 'x5', kind: 'wish', sessionId: 's', text: 'go', createdAt: now },
      { id: 'x6', kind: 'prompt', sessionId: 's', text: 'go', createdAt: now, files: [null] },
    ]
    for (const item of records)
      await db.use(inStore('outbox', (s) => s.put({ item, owner: 'gone' } as never)))
    device.setItem('abide.outbox.x7', JSON.stringify({ item: { id: 'x7' }, owner: 'gone' }))
    const t = tab('a')
    await t.outbox.load()
    expect(t.sent).toEqual([])
    expect([...t.shown.keys()].sort()).toEqual(['x1', 'x2', 'x3'])
    expect([...t.shown.values()].every((item) => item.stale)).toBe(true)
    expect(t.shown.get('x1')).toMatchObject({ status: 'queued', text: 'old words', createdAt: 0 })
    expect(t.shown.get('x2')?.status).toBe('failed')
    expect(await kept()).toHaveLength(records.length)
    t.outbox.retry('x1')
    expect(t.sent).toMatchObject([{ prompt_id: 'x1', text: 'old words' }])
  })

  it('does not send an item again if it is being sent when the device is read again', async () => {
    const t = tab('a')
    await t.outbox.add(prompt('p1'))
    await t.outbox.load()
    expect([t.sent.length, t.shown.get('p1')?.status]).toEqual([1, 'sending'])
  })

  it('of a dead tab belongs to the tab that took it over, for as long as that tab lives', async () => {
    const dead = tab('a', false)
    await dead.outbox.add(prompt('p1'))
    vi.spyOn(db, 'use').mockRejectedValue(new Error('severed'))
    void dead.outbox.add(prompt('p2')) // in localStorage only
    vi.restoreAllMocks()
    locks.kill('a')
    const b = tab('b', false)
    const c = tab('c')
    await b.outbox.load()
    expect([...b.shown.keys()].sort()).toEqual(['p1', 'p2'])
    await c.outbox.load()
    expect([c.sent, c.shown.size]).toEqual([[], 0])
  })

  it('sends the items of a dead tab in the order they were written', async () => {
    const dead = tab('a', false)
    for (const id of ['z', 'm', 'a']) {
      await dead.outbox.add(prompt(id))
      now++
    }
    locks.kill('a')
    const t = tab('b')
    await t.outbox.load()
    expect(t.sent.map((m) => (m as { prompt_id: string }).prompt_id)).toEqual(['z', 'm', 'a'])
  })

  it('stores that an item failed, and that a person retries it', async () => {
    const first = tab('a')
    await first.outbox.add(prompt('p1'))
    first.answer({ type: 'error', code: 'too_large', message: 'the prompt is too large' })
    const device = async () => (await db.use(inStore('outbox', (s) => s.get('p1'))))?.item
    await until(async () => expect((await device())?.status).toBe('failed'))
    now += 9 * 60_000
    first.link.connected = false
    first.outbox.retry('p1')
    await until(async () => expect(await device()).toMatchObject({ status: 'queued', createdAt: now }))
  })

  it('has no pending request for an item that was never sent', async () => {
    const t = tab('a', false)
    await t.outbox.add(prompt('p1'))
    expect(t.requests.has('outbox', 's')).toBe(false)
  })

  it('sends the items of a killed tab from the one tab that gets its lock', async () => {
    const dead = tab('a', false)
    await dead.outbox.add(prompt('p1'))
    const b = tab('b')
    const c = tab('c')
    b.storage.whenSweeper(() => void b.outbox.load())
    c.storage.whenSweeper(() => void c.outbox.load())
    await b.outbox.load()
    expect([b.sent, b.shown.size]).toEqual([[], 0]) // tab a lives, so the item is not theirs
    locks.kill('a')
    await b.outbox.load()
    expect([b.sent.length, c.sent.length]).toEqual([1, 0])
    locks.kill('b')
    await until(() => expect(c.sent).toMatchObject([{ type: 'prompt', prompt_id: 'p1' }]))
  })

  it.each([
    ['has not answered yet', () => new Promise<never>(() => {})],
    ['is not there', () => Promise.reject(new Error('severed'))],
  ])('sends what was written as its page ended, though the database %s', async (_, use) => {
    vi.spyOn(db, 'use').mockImplementation(use)
    const t = tab('a', false)
    void t.outbox.add(prompt('p1'))
    locks.kill('a') // in the same task, before anything asynchronous has run
    vi.restoreAllMocks()
    const other = tab('b')
    await other.outbox.load()
    expect(other.sent).toMatchObject([{ prompt_id: 'p1', text: 'go' }])
    other.answer({ type: 'prompt_received', prompt_id: 'p1', seq: 7 })
    const third = tab('c')
    locks.kill('b')
    await third.outbox.load()
    expect(third.sent).toEqual([])
  })

  it('leaves nothing in localStorage once the database has the item', async () => {
    const t = tab('a', false)
    await t.outbox.add(prompt('p1'))
    expect(await kept()).toEqual(['p1'])
    expect(device.length).toBe(0)
  })

  it('forgets that an item is done only once the database no longer has it', async () => {
    const first = tab('a', false)
    await first.outbox.add(prompt('p1'))
    device.setItem('abide.outbox.p1', '"done"') // its page ended before the database deleted it
    device.setItem('abide.outbox.p0', '"done"') // its page ended right after
    locks.kill('a')
    vi.spyOn(db, 'use').mockRejectedValue(new Error('severed'))
    await tab('b').outbox.load()
    expect(device.length).toBe(2)
    vi.restoreAllMocks()
    locks.kill('b')
    const t = tab('c')
    await t.outbox.load()
    expect(t.sent).toEqual([])
    expect([await kept(), device.length]).toEqual([[], 0])
  })

  it('asks before it sends what is older than ten minutes', async () => {
    const t = tab('a', false)
    await t.outbox.add(prompt('p1'))
    now += 11 * 60_000
    t.link.connected = true
    t.outbox.resend()
    expect([t.sent.length, t.shown.get('p1')?.stale]).toEqual([0, true])
    t.outbox.retry('p1')
    expect(t.sent.length).toBe(1)
  })

  it('shows an item the hub refuses, and retries one the hub is too busy for', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const t = tab('a')
    t.storage.put = async () => {}
    await t.outbox.add(prompt('p1'))
    t.answer({ type: 'error', code: 'busy', message: 'busy', retry_after_ms: 500 })
    expect(t.shown.get('p1')?.status).toBe('queued')
    vi.advanceTimersByTime(500)
    expect(t.sent.length).toBe(2)
    t.answer({ type: 'error', code: 'unavailable', message: 'its log is full' })
    expect(t.shown.get('p1')?.status).toBe('queued')
    vi.advanceTimersByTime(1_000)
    expect(t.sent.length).toBe(3)
    t.answer({ type: 'error', code: 'too_large', message: 'the prompt is too large' })
    expect(t.shown.get('p1')).toMatchObject({ status: 'failed', problem: 'the prompt is too large' })
    vi.useRealTimers()
  })

  describe('with a prompt that is larger than the hub accepts', () => {
    const huge = (id: string) => ({ ...prompt(id), text: 'ä'.repeat(600) }) // 1,200 bytes

    it('fails it before it is sent, explains what to do, and sends the next ones', async () => {
      const t = tab('a', false)
      await t.outbox.add(huge('p1'))
      await t.outbox.add(prompt('p2'))
      t.link.connected = true
      t.outbox.resend(1_000)
      expect(t.sent).toMatchObject([{ prompt_id: 'p2' }])
      expect(t.shown.get('p1')).toMatchObject({ status: 'failed', text: huge('').text })
      expect(t.shown.get('p1')!.problem).toMatch(/2 KB.* at most 1 KB at once. Shorten it, or .* a file/)
      await t.outbox.load()
      expect(t.shown.get('p1')?.status).toBe('failed')
    })

    it('fails the largest item when the hub closed the socket because of it, and sends the rest', async () => {
      const t = tab('a')
      await t.outbox.add(prompt('p1'))
      await t.outbox.add(huge('p2'))
      await t.outbox.add(prompt('p3'))
      t.outbox.tooLarge()
      t.outbox.resend()
      const sent = t.sent.map((m) => (m as { prompt_id: string }).prompt_id)
      expect(sent).toEqual(['p1', 'p2', 'p3', 'p1', 'p3'])
      expect(t.shown.get('p2')).toMatchObject({ status: 'failed' })
      expect(t.shown.get('p2')!.problem).toContain('more than the hub takes at once')
    })

    it('sends a prompt that is just short enough', async () => {
      const t = tab('a', false)
      await t.outbox.add(huge('p1'))
      t.link.connected = true
      t.outbox.resend(1_000_000)
      const { length } = new TextEncoder().encode(JSON.stringify(t.sent[0]))
      t.outbox.resend(length)
      expect(t.sent.length).toBe(2)
      t.outbox.resend(length - 1)
      expect([t.sent.length, t.shown.get('p1')?.status]).toEqual([2, 'failed'])
    })
  })

  it('removes an answer to a permission that another client has answered', async () => {
    const t = tab('a')
    await t.outbox.add({ id: 'perm', sessionId: 's', kind: 'answer', text: '', optionId: 'yes' })
    expect(t.sent).toMatchObject([{ type: 'permission_answer', permission_id: 'perm', option_id: 'yes' }])
    t.answer({ type: 'error', code: 'already_resolved', message: 'phone has answered' })
    expect(t.shown.size).toBe(0)
    expect(t.problems).toEqual(['The request was withdrawn before your answer came.'])
  })

  it.each([
    ['yes', []],
    ['no', ['Phone answered first: your answer did not count.']],
  ])('tells who answered a permission first, where that was another answer: %s', async (option_id, told) => {
    const t = tab('a')
    await t.outbox.add({ id: 'perm', sessionId: 's', kind: 'answer', text: '', optionId: 'yes' })
    const winner = { outcome: 'selected', option_id, by: 'Phone' } as const
    t.answer({ type: 'error', code: 'already_resolved', message: 'answered', winner } as never)
    expect([t.shown.size, t.problems]).toEqual([0, told])
  })

  it('works without a database', async () => {
    const t = tab('a')
    t.storage.put = () => Promise.reject(new Error('severed'))
    let settled = false
    void t.outbox.add(prompt('p1')).then(() => (settled = true))
    await until(() => expect(t.sent.length).toBe(1))
    await new Promise((later) => setTimeout(later))
    expect(settled, 'nothing keeps it: what it was made of must stay').toBe(false)
    t.answer({ type: 'prompt_received', prompt_id: 'p1', seq: 7 })
    await until(() => expect(settled).toBe(true))
  })
})

describe('tabs of one browser', () => {
  const channels: BroadcastChannel[] = []
  afterEach(() => channels.splice(0).forEach((channel) => channel.close()))

  function joined(id: string, connected = true) {
    const t = tab(id, connected)
    const channel = new BroadcastChannel(`abide-outbox-${name}`)
    channels.push(channel)
    t.outbox.join(channel)
    return { ...t, channel }
  }
  const status = (t: ReturnType<typeof tab>, id: string) => t.shown.get(id)?.status

  it('show each other’s items with their current status, and their end', async () => {
    const a = joined('a', false)
    const b = joined('b')
    await a.outbox.add(prompt('p1'))
    await until(() => expect(status(b, 'p1')).toBe('queued'))
    const late = joined('c')
    await until(() => expect(status(late, 'p1')).toBe('queued'))
    a.link.connected = true
    a.outbox.resend()
    await until(() => expect(status(b, 'p1')).toBe('sending'))
    a.answer({ type: 'error', code: 'too_large', message: 'too large' })
    await until(() => expect(b.shown.get('p1')).toMatchObject({ status: 'failed', problem: 'too large' }))
    b.outbox.retry('p1')
    await until(() => expect(a.sent.length).toBe(2))
    a.answer({ type: 'prompt_received', prompt_id: 'p1', seq: 7 })
    await until(() => expect([b.shown.size, late.shown.size]).toEqual([0, 0]))
    expect([b.sent, late.sent]).toEqual([[], []])
  })

  it('can withdraw an item of another tab, which is then never sent', async () => {
    const a = joined('a', false)
    const b = joined('b')
    await a.outbox.add(prompt('p1'))
    await until(() => expect(b.shown.size).toBe(1))
    b.outbox.drop('p1')
    await until(() => expect(a.shown.size).toBe(0))
    a.link.connected = true
    a.outbox.resend()
    expect(a.sent).toEqual([])
    await until(async () => expect(await kept()).toEqual([]))
    await until(() => expect(device.length).toBe(0))
  })

  it('take over the stored items of a closed tab at once, and stop showing those that were not stored', async () => {
    const a = joined('a', false)
    const b = joined('b')
    b.storage.whenSweeper(() => {})
    const c = joined('c')
    await a.outbox.add(prompt('p1'))
    vi.spyOn(a.storage, 'put').mockRejectedValue(new Error('no room'))
    void a.outbox.add(prompt('p2')) // not stored, only in the memory of its page
    await until(() => expect([b.shown.size, c.shown.size]).toEqual([2, 2]))
    a.channel.close()
    locks.kill('a')
    await until(() => expect(b.sent).toMatchObject([{ prompt_id: 'p1' }]))
    await until(() => expect([...c.shown.keys()]).toEqual(['p1']))
    await until(() => expect([...b.shown.keys()]).toEqual(['p1']))
    expect(c.sent).toEqual([])
  })
})

it('a severed database is opened once more', async () => {
  await db.use(
    inStore('outbox', (s) =>
      s.put({ item: { ...prompt('p1'), createdAt: 1, status: 'queued' }, owner: 'a' }),
    ),
  )
  await db.use(async (h) => h.db.close()) // as when the system closes the database
  expect(await kept()).toEqual(['p1'])
})
