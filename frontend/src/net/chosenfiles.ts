import type { OutboxFile } from '../state/outboxitem'
import type { DBSchema } from 'idb'
import { transact, type Database, type Layout } from './db'

/** Files chosen for a session's next prompt. */
interface KeptFiles {
  sessionId: string
  files: readonly OutboxFile[]
  bytes: number
}

interface Schema extends DBSchema {
  chosen: { key: string; value: KeptFiles }
}

/** A database of their own: a tab that keeps it from opening holds up no prompt. */
export const chosenLayout: Layout<Schema> = {
  version: 1,
  upgrade: (db) => void db.createObjectStore('chosen', { keyPath: 'sessionId' }),
}

/** What all drafts together may hold; more than one prompt takes, and little to a device. */
const mostBytes = 600 * 1024 * 1024

/** Files chosen for prompts that are not sent yet, in IndexedDB, so that they outlive the page. */
export class ChosenDB {
  constructor(
    private readonly db: Database<Schema>,
    private readonly most = mostBytes,
  ) {}

  /** Returns what is kept for a session; nothing where it cannot be read. */
  async load(sessionId: string): Promise<readonly OutboxFile[]> {
    const kept = await this.db.use((db) => db.get('chosen', sessionId)).catch(() => undefined)
    return kept?.files ?? []
  }

  /** Lets go of the files of sessions that are no more. Never rejects. */
  async keepOnly(sessions: ReadonlySet<string>): Promise<void> {
    const sweep = this.db.use((db) =>
      transact(db, ['chosen'], async (tx) => {
        const store = tx.objectStore('chosen')
        const gone = (await store.getAllKeys()).filter((id) => !sessions.has(id))
        await Promise.all(gone.map((id) => store.delete(id)))
      }),
    )
    await sweep.catch(() => {})
  }

  /** Keeps these files instead of what was kept; false, and nothing is kept, where there is no room. Never rejects. */
  async save(sessionId: string, files: readonly OutboxFile[]): Promise<boolean> {
    const bytes = files.reduce((sum, file) => sum + file.blob.size, 0)
    try {
      return await this.db.use((db) =>
        transact(db, ['chosen'], async (tx) => {
          const store = tx.objectStore('chosen')
          await store.delete(sessionId)
          if (files.length === 0) return true
          const others = (await store.getAll()).reduce((sum, kept) => sum + kept.bytes, 0)
          if (others + bytes > this.most) return false
          await store.put({ sessionId, files, bytes })
          return true
        }),
      )
    } catch {
      return files.length === 0 // a device that keeps nothing has nothing to forget
    }
  }
}
