import type { OutboxItem } from '../state/outboxitem'
import type { Database } from './db'
import type { OutboxStorage } from './outbox'

const tabLock = (tab: string) => `abide.tab.${tab}`
const sweepLock = 'abide.outbox'

/** A lock taken by force costs nothing: two tabs may send the same then, and its id makes that harmless. */
const stolen = () => {}

/** The lock manager, as far as it is used; absent where the page is not a secure context. */
export type Locks = Pick<LockManager, 'request' | 'query'>

/**
 * The outbox in IndexedDB, shared by a person's tabs. A tab sends what was
 * written in it; what a dead tab left is taken over by the one tab that holds
 * the lock. Should two tabs ever send the same item, its id makes that harmless.
 */
export class OutboxDB implements OutboxStorage {
  constructor(
    private readonly db: Database,
    private readonly tab: string,
    private readonly locks: Locks | undefined,
  ) {
    // Held as long as the tab lives; the browser lets go of it however the tab ends.
    locks?.request(tabLock(tab), () => new Promise(() => {})).catch(stolen)
  }

  /** Calls back once, when this tab is the one that looks after what others left. */
  whenSweeper(sweep: () => void): void {
    if (!this.locks) return sweep()
    this.locks
      .request(sweepLock, () => {
        sweep()
        return new Promise(() => {})
      })
      .catch(stolen)
  }

  /** Takes over the items whose tab is gone, and returns them. */
  async all(): Promise<OutboxItem[]> {
    const held = this.locks ? ((await this.locks.query()).held ?? []).map((lock) => lock.name) : []
    return this.db.use(async (db) => {
      const tx = db.transaction('outbox', 'readwrite')
      const taken: OutboxItem[] = []
      for (const kept of await tx.store.getAll()) {
        if (kept.owner !== this.tab && held.includes(tabLock(kept.owner))) continue
        await tx.store.put({ ...kept, owner: this.tab })
        taken.push(kept.item)
      }
      await tx.done
      return taken.sort((a, b) => a.createdAt - b.createdAt)
    })
  }

  async put(item: OutboxItem): Promise<void> {
    await this.db.use((db) => db.put('outbox', { item, owner: this.tab }))
  }

  async delete(id: string): Promise<void> {
    await this.db.use((db) => db.delete('outbox', id))
  }
}
