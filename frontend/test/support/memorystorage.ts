import type { OutboxStorage } from '../../src/net/outbox'
import type { OutboxItem } from '../../src/state/outboxitem'

/** An outbox storage in memory. */
export class MemoryStorage implements OutboxStorage {
  private readonly items = new Map<string, OutboxItem>()
  readonly tab = ''
  ended = (): Promise<boolean> => new Promise(() => {})
  all = async (): Promise<OutboxItem[]> => [...this.items.values()]
  put = async (item: OutboxItem): Promise<void> => void this.items.set(item.id, item)
  delete = async (id: string): Promise<void> => void this.items.delete(id)
}
