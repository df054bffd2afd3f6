import { openDB, type DBSchema, type IDBPDatabase, type IDBPTransaction, type StoreNames } from 'idb'
import type { OutboxFile, OutboxItem } from '../state/outboxitem'
import type { AbideEvent, Seq } from '../wire/gen'

/** An item of the outbox as it is kept, with the tab that sends it while it lives. */
export interface KeptItem {
  item: OutboxItem
  owner: string
}

/** A run of events kept of one session: first..last of one epoch, without a hole. */
export interface KeptRun {
  sessionId: string
  epoch: string
  first: Seq
  last: Seq
  /** When it was last written to, in ms. */
  at: number
}

/** Events first..last of a run, as they were written at once: one record costs a stream far less than one each. */
export interface KeptPage {
  sessionId: string
  first: Seq
  last: Seq
  events: readonly AbideEvent[]
}

/** Files chosen for a session's next prompt. */
export interface KeptFiles {
  sessionId: string
  files: readonly OutboxFile[]
  bytes: number
}

interface Schema extends DBSchema {
  outbox: { key: string; value: KeptItem }
  chosen: { key: string; value: KeptFiles }
  runs: { key: string; value: KeptRun }
  pages: { key: [string, Seq, Seq]; value: KeptPage }
}

export type Handle = IDBPDatabase<Schema>

/** Longer than any healthy transaction; a frozen database must hold nobody up. */
const patienceMs = 2_000

/**
 * The app's database. Systems sever its connection behind a page's back, after
 * which every use fails: then it is opened once more, and only then given up.
 */
export class Database {
  private handle: Promise<Handle> | null = null

  constructor(private readonly name = 'abide') {}

  /** Runs work on the database. The error is the last one met, or a timeout. */
  async use<T>(work: (db: Handle) => Promise<T>): Promise<T> {
    try {
      return await within(this.open().then(work))
    } catch {
      this.handle = null
      return within(this.open().then(work))
    }
  }

  private open(): Promise<Handle> {
    this.handle ??= openDB<Schema>(this.name, 3, {
      upgrade(db, before) {
        if (before < 1) db.createObjectStore('outbox', { keyPath: 'item.id' })
        if (before < 3) db.createObjectStore('chosen', { keyPath: 'sessionId' })
        // What is kept of sessions comes anew from the hub; only what a person wrote goes on.
        const theirs = ['outbox', 'chosen']
        for (const store of [...db.objectStoreNames]) if (!theirs.includes(store)) db.deleteObjectStore(store)
        db.createObjectStore('runs', { keyPath: 'sessionId' })
        // By first, too: two tabs may have cut the same events in other places.
        db.createObjectStore('pages', { keyPath: ['sessionId', 'last', 'first'] })
      },
      terminated: () => (this.handle = null),
      // A newer page wants to change the database: let it.
      blocking: (_old, _new, event) => {
        this.handle = null
        ;(event.target as IDBDatabase).close()
      },
    })
    return this.handle
  }
}

/**
 * Runs work in one transaction and waits until it is on the device. Whatever of it fails
 * when the system severs the database fails here, and nowhere unheard.
 */
export async function transact<T, N extends StoreNames<Schema>[]>(
  db: Handle,
  stores: N,
  work: (tx: IDBPTransaction<Schema, N, 'readwrite'>) => Promise<T>,
): Promise<T> {
  const tx = db.transaction(stores, 'readwrite')
  const [result] = await Promise.all([work(tx), tx.done])
  return result
}

function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the database does not answer')), patienceMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
