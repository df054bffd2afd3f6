import type { OutboxItem } from '../state/outboxitem'
import type { KeptItem } from './db'

const prefix = 'abide.outbox.'
const over = '"done"'

/**
 * Items of the outbox that the database does not have yet, or is yet to let go of. It takes its time,
 * and a page may end meanwhile; localStorage is written before the call returns.
 *
 * An item with files is not taken: they do not fit. A full or forbidden storage takes none.
 */
export class Journal {
  constructor(private readonly storage: Storage) {}

  /** Returns whether the device has the item now. */
  put(item: OutboxItem, owner: string): boolean {
    if (item.files) return false
    try {
      this.storage.setItem(prefix + item.id, JSON.stringify({ item, owner } satisfies KeptItem))
      return this.storage === localStorage // any other lasts no longer than the page
    } catch {
      return false // then the item is as safe as the database makes it
    }
  }

  delete(id: string): void {
    this.storage.removeItem(prefix + id)
  }

  /** Notes that an item is done with, until it is deleted here, too. */
  done(id: string): void {
    try {
      this.storage.setItem(prefix + id, over)
    } catch {
      this.delete(id)
    }
  }

  isDone(id: string): boolean {
    return this.storage.getItem(prefix + id) === over
  }

  /** The ids of those that are done with. */
  marks(): string[] {
    return this.keys()
      .map((key) => key.slice(prefix.length))
      .filter((id) => this.isDone(id))
  }

  /** All items, of every tab; values that are not items are left alone. */
  all(): KeptItem[] {
    return this.keys().flatMap((key) => read(this.storage.getItem(key)) ?? [])
  }

  private keys(): string[] {
    const { storage } = this
    const keys = Array.from({ length: storage.length }, (_, i) => storage.key(i) ?? '')
    return keys.filter((key) => key.startsWith(prefix))
  }
}

function read(text: string | null): KeptItem | null {
  try {
    const value = JSON.parse(text ?? 'null') as KeptItem | null
    return typeof value?.item?.id === 'string' && typeof value.owner === 'string' ? value : null
  } catch {
    return null
  }
}
