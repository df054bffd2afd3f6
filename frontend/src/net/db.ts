import type { OutboxItem } from '../state/outboxitem'
import type { AbideEvent, Seq } from '../wire/gen'
import { open, type Handle, type Stores } from './indexeddb'

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

// A type, not an interface: only a type has the index that Stores asks for.
export type Sessions = {
  outbox: { key: string; value: KeptItem }
  runs: { key: string; value: KeptRun }
  pages: { key: [string, Seq, Seq]; value: KeptPage }
}

/** The time limit of a transaction: longer than any healthy one, because a frozen database must not delay the app. */
const patienceMs = 2_000

/** The version of a database, and how it gets its stores, whose types are S. */
export interface Layout<S extends Stores> {
  version: number
  upgrade(db: IDBDatabase, before: number): void
  /** Never set. */
  readonly stores?: S
}

const sessions: Layout<Sessions> = {
  version: 2,
  upgrade(db, before) {
    if (before < 1) db.createObjectStore('outbox', { keyPath: 'item.id' })
    // Cached sessions come anew from the hub; only a person's own text is carried over.
    for (const store of [...db.objectStoreNames]) if (store !== 'outbox') db.deleteObjectStore(store)
    db.createObjectStore('runs', { keyPath: 'sessionId' })
    // By first, too: two tabs may have cut the same events in other places.
    db.createObjectStore('pages', { keyPath: ['sessionId', 'last', 'first'] })
  },
}

/**
 * A database of the app, by default the one of sessions. The system may close its connection
 * behind a page's back, after which every use fails: then it is opened once more, and only then given up.
 */
export class Database<S extends Stores = Sessions> {
  private handle: Promise<Handle<S>> | null = null
  private opening = false
  /** The opening takes too long: a frozen tab holds an older version open, and says nothing. */
  private late = false

  constructor(
    private readonly name = 'abide',
    private readonly layout = sessions as unknown as Layout<S>,
  ) {}

  /**
   * Runs work on the database. The error is the last one met, or a timeout; at once while an opening is
   * late: then work that waits is done all the same when it comes.
   */
  async use<T>(work: (db: Handle<S>) => Promise<T>, waits = false): Promise<T> {
    if (this.late) {
      if (waits)
        void this.open()
          .then(work)
          .catch(() => {})
      throw new Error(t`the database is not open yet`)
    }
    try {
      return await within(this.open().then(work))
    } catch (error) {
      // Another request to open the database would only wait behind this one.
      if ((this.late = this.opening)) throw error
      this.handle = null
      return within(this.open().then(work))
    }
  }

  private open(): Promise<Handle<S>> {
    if (this.handle) return this.handle
    this.opening = true
    const { version, upgrade } = this.layout
    const opened = (version?: number) => open<S>(this.name, version, upgrade, () => (this.handle = null))
    this.handle = opened(version)
      // A newer app was here: its database has these stores, too.
      .catch((error: Error) => (error.name === 'VersionError' ? opened() : Promise.reject(error)))
      .finally(() => (this.opening = this.late = false))
    return this.handle
  }
}

function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(t`the database does not answer`)), patienceMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
