import type { OutboxFile } from '../state/outboxitem'
import type { Database, Layout } from './db'

/** The limit for all drafts together: more than one prompt may have, and little for a device. */
const mostBytes = 600 * 1024 * 1024

/** A file chosen for a session's next prompt, under the id of its choosing. */
interface Chosen extends OutboxFile {
  readonly id: string
}

type Schema = { files: { key: [string, string]; value: Chosen & { sessionId: string } } }

/** A separate database, so that a tab that keeps it from opening does not hold up prompts. */
export const chosenLayout: Layout<Schema> = {
  version: 1,
  upgrade: (db) => void db.createObjectStore('files', { keyPath: ['sessionId', 'id'] }),
}

/** A tab's message to the others: it stored files of a session, or dropped some. */
interface News {
  sessionId: string
  gone: readonly string[]
}

/**
 * Files chosen for prompts that are not sent yet, in IndexedDB, so that they outlive the
 * page. A person's tabs share them: each adds and lets go of its own, and hears the others.
 */
export class ChosenDB {
  /** Files removed in any tab. They stay in the database until the prompt with them is stored. */
  private readonly gone = new Set<string>()
  private readonly channel = new BroadcastChannel('abide-files')

  constructor(
    private readonly db: Database<Schema>,
    private readonly most = mostBytes,
  ) {
    this.channel.addEventListener('message', ({ data }: MessageEvent<News>) => {
      for (const id of data.gone) this.gone.add(id)
    })
  }

  /**
   * Calls back when another tab kept files of a session or let go of some; returns the function
   * that ends it.
   */
  watch(sessionId: string, changed: () => void): () => void {
    const listen = ({ data }: MessageEvent<News>) => {
      if (data.sessionId === sessionId) changed()
    }
    this.channel.addEventListener('message', listen)
    return () => this.channel.removeEventListener('message', listen)
  }

  /**
   * Returns the stored files of a session, in the order of ids; nothing where it cannot be read.
   */
  async load(sessionId: string): Promise<readonly Chosen[]> {
    const read = this.db.use((db) =>
      db.transact('readonly', ['files'], (at) =>
        at('files').getAll(IDBKeyRange.bound([sessionId], [sessionId, []])),
      ),
    )
    return (await read.catch(() => [])).filter(this.there)
  }

  /** Deletes the files of deleted sessions; asks the hub for each session that has files. Never rejects. */
  async sweep(gone: (sessionId: string) => Promise<boolean>): Promise<void> {
    const read = this.db.use((db) => db.transact('readonly', ['files'], (at) => at('files').getAllKeys()))
    for (const id of new Set((await read.catch(() => [])).map(([id]) => id))) {
      if (!(await gone(id).catch(() => false))) continue
      const all = IDBKeyRange.bound([id], [id, []])
      const forget = this.db.use((db) => db.transact('readwrite', ['files'], (at) => at('files').delete(all)))
      await forget.catch(() => {})
    }
  }

  /** Keeps these beside the others; false, and none is kept, where there is no room. Never rejects. */
  async add(sessionId: string, files: readonly Chosen[]): Promise<boolean> {
    const put = this.db.use((db) =>
      db.transact('readwrite', ['files'], async (at) => {
        const store = at('files')
        const added = files.filter(this.there)
        const others = (await store.getAll()).filter(({ id }) => !added.some((file) => file.id === id))
        if ([...others, ...added].reduce((sum, { blob }) => sum + blob.size, 0) > this.most) return false
        await Promise.all(added.map((file) => store.put({ ...file, sessionId })))
        return true
      }),
    )
    const kept = await put.catch(() => false)
    if (kept) this.tell({ sessionId, gone: [] })
    return kept
  }

  /** Lets go of files at once, for every tab; the device forgets them after `after`. Never rejects. */
  async remove(sessionId: string, ids: readonly string[], after?: Promise<unknown>): Promise<void> {
    for (const id of ids) this.gone.add(id)
    this.tell({ sessionId, gone: ids })
    await after?.catch(() => {})
    const forget = this.db.use((db) =>
      db.transact('readwrite', ['files'], (at) =>
        Promise.all(ids.map((id) => at('files').delete([sessionId, id]))),
      ),
    )
    await forget.catch(() => {}) // without a database nothing is stored
  }

  private readonly there = ({ id }: Chosen): boolean => !this.gone.has(id)

  private tell(news: News): void {
    this.channel.postMessage(news)
  }
}
