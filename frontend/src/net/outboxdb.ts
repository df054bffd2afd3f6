import { keptItem, type OutboxItem } from '../state/outboxitem'
import type { Database, KeptItem, Sessions } from './db'
import type { Handle } from './indexeddb'
import type { Journal } from './journal'
import type { OutboxStorage } from './outbox'

const tabLock = (tab: string) => `abide.tab.${tab}`
const sweepLock = 'abide.outbox'
/**
 * How long the browser takes at most to hand on the lock of an ended tab; else the next round takes
 * it up.
 */
const settleMs = 300

/** A lock taken by force costs nothing: two tabs may send the same then, and its id makes that harmless. */
const stolen = () => {}

/** The lock manager, as far as it is used; absent where the page is not a secure context. */
export type Locks = Pick<LockManager, 'request' | 'query'>

/**
 * The outbox in IndexedDB, shared by a person's tabs. A tab sends the prompts written in it; those
 * of a dead tab are taken over by the one tab that holds the lock. Should two tabs ever send the
 * same item, its id makes that harmless.
 */
export class OutboxDB implements OutboxStorage {
  /** The database's pending answer about an item; null once it is done with. */
  private readonly due = new Map<string, { item: OutboxItem | null }>()
  /** Items that the database has had. */
  private readonly had = new Set<string>()
  private sweeps = false

  constructor(
    private readonly db: Database,
    readonly tab: string,
    private readonly locks: Locks | undefined,
    private readonly journal: Journal,
  ) {
    // Held as long as the tab lives; the browser lets go of it however the tab ends.
    locks?.request(tabLock(tab), () => new Promise(() => {})).catch(stolen)
  }

  /** Calls back once, when this tab is the one that takes over other tabs' items. */
  whenSweeper(sweep: () => void): void {
    if (!this.locks) return sweep()
    this.locks
      .request(sweepLock, () => {
        this.sweeps = true
        sweep()
        return new Promise(() => {})
      })
      .catch(stolen)
  }

  async ended(tab: string): Promise<boolean> {
    if (!this.locks) return new Promise(() => {}) // without locks the end of a tab is unknown
    // Shared: a tab that only waits for the end is not taken for its holder.
    await this.locks.request(tabLock(tab), { mode: 'shared' }, () => {})
    // Its locks go one after the other: it may have been the one that looked after others.
    await new Promise((later) => setTimeout(later, settleMs))
    return this.sweeps
  }

  /** Takes over the items of ended tabs, and returns them, the oldest first. */
  async all(): Promise<OutboxItem[]> {
    const locks = (await this.locks?.query())?.held ?? []
    const held = locks.flatMap(({ name, mode }) => (mode === 'shared' ? [] : name))
    const left = ({ owner }: KeptItem) => owner === this.tab || !held.includes(tabLock(owner))
    const taken = new Map<string, OutboxItem>()
    // The items that a page wrote in its last moment: the database may have older versions of them.
    for (const kept of this.journal.all().filter(left)) {
      const item = keptItem(kept.item)
      if (!item) continue
      taken.set(item.id, item)
      this.journal.put(item, this.tab)
    }
    const done: string[] = []
    // Noted before the database is asked: an item missing then is gone for good.
    const marks = this.journal.marks()
    const stored = (db: Handle<Sessions>) =>
      db.transact('readwrite', ['outbox'], async (at) => {
        const store = at('outbox')
        const mine: KeptItem[] = []
        const ids = await store.getAllKeys()
        done.push(...marks.filter((id) => !ids.includes(id)))
        // A malformed item is neither shown nor sent. It stays stored, so that a person can inspect it.
        for (const kept of await store.getAll()) {
          const item = keptItem(kept.item)
          if (!item || !left(kept)) continue
          if (this.due.get(item.id)?.item === null || this.journal.isDone(item.id)) {
            await store.delete(item.id)
            done.push(item.id)
            continue
          }
          this.had.add(item.id)
          mine.push({ item, owner: this.tab })
          await store.put({ ...kept, owner: this.tab })
        }
        return mine
      })
    const mine = await this.db.use(stored).catch(() => null)
    for (const { item } of mine ?? []) if (!taken.has(item.id)) taken.set(item.id, item)
    if (mine) for (const id of done) this.journal.delete(id)
    return [...taken.values()].sort((a, b) => a.createdAt - b.createdAt)
  }

  /**
   * Keeps an item. The journal has an item without files when the call returns, so the database
   * delays nothing.
   */
  async put(item: OutboxItem): Promise<void> {
    const written = this.journal.put(item, this.tab)
    const stored = this.write(item.id, item)
    if (written) void stored.catch(() => {})
    else await stored
  }

  /** Lets go of an item. Should the page end before the database does, the journal knows that it is done with. */
  async delete(id: string): Promise<void> {
    if (this.had.has(id)) this.journal.done(id)
    else this.journal.delete(id)
    await this.write(id, null)
  }

  /**
   * Work on the database may come late, and out of turn: it writes the state of that moment, not
   * the one of the request.
   */
  private write(id: string, item: OutboxItem | null): Promise<void> {
    this.due.set(id, { item })
    return this.db.use(async (db) => {
      const due = this.due.get(id)
      if (!due) return
      const { item } = due
      await db.transact('readwrite', ['outbox'], (at) =>
        item ? at('outbox').put({ item, owner: this.tab }) : at('outbox').delete(id),
      )
      this.had.add(id)
      if (this.due.get(id) !== due) return
      this.due.delete(id)
      this.journal.delete(id)
    }, true)
  }
}
