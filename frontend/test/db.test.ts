import 'fake-indexeddb/auto'
import { afterEach, expect, test, vi } from 'vitest'
import { ChosenDB, chosenLayout } from '../src/net/chosenfiles'
import { Database } from '../src/net/db'
import { Journal } from '../src/net/journal'
import { Outbox } from '../src/net/outbox'
import { OutboxDB } from '../src/net/outboxdb'
import { Requests } from '../src/net/requests'
import { deviceStorage } from '../src/net/storage'
import { until } from './support/until'
import { count as countOf, inStore } from './support/instore'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

let count = 0
/** A frozen tab of another version of the app: it holds the database open and does not close it when asked. */
function frozen(version: number, stores: string[] = []) {
  const name = `frozen${count++}`
  return new Promise<{ name: string; tab: IDBDatabase }>((resolve) => {
    const asked = indexedDB.open(name, version)
    asked.onupgradeneeded = () => {
      for (const store of stores) asked.result.createObjectStore(store, { keyPath: 'item.id' })
    }
    asked.onsuccess = () => resolve({ name, tab: asked.result })
  })
}

const prompt = { id: 'p', sessionId: 's', kind: 'prompt' as const, text: 'go' }

function outbox(db: Database, device: Storage) {
  const sent: unknown[] = []
  const kept = new OutboxDB(db, 'me', undefined, new Journal(device))
  const send = (message: unknown) => sent.push(message) > 0
  const box = new Outbox(
    kept,
    new Requests(),
    () => {},
    send,
    () => Promise.reject(new Error('no files')),
  )
  return { box, sent }
}

test('a prompt is sent and kept while a frozen tab keeps the database from opening', async () => {
  const device = deviceStorage()
  vi.stubGlobal('localStorage', device)
  vi.useFakeTimers({ toFake: ['setTimeout'] }) // no timeout fires
  const { name, tab } = await frozen(1, ['outbox'])
  const db = new Database(name)
  const { box, sent } = outbox(db, device)
  await box.add(prompt)
  expect(sent).toMatchObject([{ prompt_id: 'p' }])
  expect(new Journal(device).all()).toMatchObject([{ item: { id: 'p' } }])
  vi.useRealTimers()
  tab.close()
  await until(() => expect(device.length).toBe(0))
  expect(await db.use(inStore('outbox', (s) => s.getAllKeys()))).toEqual(['p'])
})

test('items removed while the database opens late are removed once it is open, and kept items are there', async () => {
  const device = deviceStorage()
  vi.stubGlobal('localStorage', device)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const { name, tab } = await frozen(1, ['outbox'])
  const item = (id: string) => ({ ...prompt, id, createdAt: 1, status: 'queued' as const })
  const left = tab.transaction('outbox', 'readwrite')
  left.objectStore('outbox').put({ item: item('earlier'), owner: 'gone' })
  await new Promise((done) => (left.oncomplete = done))
  const db = new Database(name)
  const kept = new OutboxDB(db, 'me', undefined, new Journal(device))
  await kept.put(item('sent'))
  await kept.put(item('again'))
  await vi.advanceTimersByTimeAsync(2_000) // both still wait for the database to open
  for (const id of ['sent', 'again', 'earlier']) {
    await expect(kept.delete(id)).rejects.toThrow('not open yet')
  }
  await kept.put({ ...item('again'), text: 'once more' })
  vi.useRealTimers()
  tab.close()
  await until(() => expect(device.length).toBe(0))
  expect(await db.use(inStore('outbox', (s) => s.getAll()))).toMatchObject([
    { item: { id: 'again', text: 'once more' } },
  ])
  expect((await kept.all()).map(({ id }) => id)).toEqual(['again'])
})

test('an item whose removal from the database failed is not sent again', async () => {
  const db = new Database(`kept${count++}`)
  const kept = new OutboxDB(db, 'me', undefined, new Journal(deviceStorage()))
  await kept.put({ ...prompt, createdAt: 1, status: 'queued' })
  const failing = vi.spyOn(IDBObjectStore.prototype, 'delete').mockImplementation(() => {
    throw new Error('severed')
  })
  await expect(kept.delete('p')).rejects.toThrow('severed')
  failing.mockRestore()
  expect(await kept.all()).toEqual([])
  expect(await db.use(inStore('outbox', (s) => s.getAllKeys()))).toEqual([])
})

test('an item whose removal from the database failed does not come back in the next page', async () => {
  const db = new Database(`kept${count++}`)
  const device = deviceStorage()
  const page = (tab: string) => new OutboxDB(db, tab, undefined, new Journal(device))
  await page('one').put({ ...prompt, createdAt: 1, status: 'failed' })
  const two = page('two')
  expect((await two.all()).map(({ id }) => id)).toEqual(['p'])
  const failing = vi.spyOn(db, 'use').mockRejectedValue(new Error('severed'))
  await expect(two.delete('p')).rejects.toThrow('severed')
  expect(await page('three').all(), 'while it is away').toEqual([])
  failing.mockRestore()
  expect(await page('four').all()).toEqual([])
  expect(await db.use(inStore('outbox', (s) => s.getAllKeys()))).toEqual([])
  expect(device.length).toBe(0)
  await page('five').put({ ...prompt, createdAt: 1, status: 'queued' })
  expect(
    (await page('six').all()).map(({ id }) => id),
    'one of its name',
  ).toEqual(['p'])
})

test('the version of an item that a page wrote last is used, not the older one in the database', async () => {
  const db = new Database(`kept${count++}`)
  const device = deviceStorage()
  vi.stubGlobal('localStorage', device)
  const page = (tab: string) => new OutboxDB(db, tab, undefined, new Journal(device))
  const one = page('one')
  await one.put({ ...prompt, createdAt: 1, status: 'failed', problem: 'too busy' })
  await until(() => expect(device.length).toBe(0))
  const failing = vi.spyOn(db, 'use').mockRejectedValue(new Error('severed'))
  await one.put({ ...prompt, createdAt: 2, status: 'queued' })
  failing.mockRestore()
  for (const tab of ['two', 'three']) {
    expect(await page(tab).all(), tab).toMatchObject([{ id: 'p', createdAt: 2, status: 'queued' }])
  }
})

test('if localStorage ends with the page, a prompt waits for the database', async () => {
  const db = new Database(`page${count++}`)
  const { box, sent } = outbox(db, deviceStorage())
  const added = box.add(prompt)
  expect(sent).toEqual([])
  await added
  expect(await db.use(inStore('outbox', (s) => s.getAllKeys()))).toEqual(['p'])
})

test('a late opening of the database is waited for once; later uses fail at once until it is open', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const { name, tab } = await frozen(1)
  const opens = vi.spyOn(indexedDB, 'open')
  const db = new Database(name)
  const read = () => db.use(countOf('runs'))
  const first = expect(read()).rejects.toThrow('does not answer')
  await vi.advanceTimersByTimeAsync(2_000)
  await first
  await expect(read(), 'with no time passing').rejects.toThrow('not open yet')
  expect(opens).toHaveBeenCalledTimes(1)
  vi.useRealTimers()
  tab.close()
  await until(async () => expect(await read()).toBe(0))
  expect(opens).toHaveBeenCalledTimes(1)
})

test('chosen files are kept in a separate database, and one of a newer app is used as it is', async () => {
  const { name, tab } = await frozen(3, ['outbox', 'chosen', 'runs', 'pages'])
  tab.close()
  expect(await new Database(name).use(inStore('outbox', (s) => s.getAllKeys()))).toEqual([])
  const before = (await indexedDB.databases()).length
  const chosen = new ChosenDB(new Database(`files${count++}`, chosenLayout))
  expect(await chosen.add('s', [{ id: '1', name: 'a', blob: new Blob(['x']) }])).toBe(true)
  expect((await indexedDB.databases()).length).toBe(before + 1)
})
