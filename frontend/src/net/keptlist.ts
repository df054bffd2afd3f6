import type { AppState } from '../state/app'
import type { SessionInfo } from '../wire/gen'

const key = 'abide.list'
const most = 60

/** The session list of the last visit: something to show before the hub answers, or without it. */
export class KeptList {
  private written: AppState['list'] = null

  constructor(private readonly storage: Storage) {}

  read(): readonly SessionInfo[] | null {
    try {
      const value: unknown = JSON.parse(this.storage.getItem(key) ?? 'null')
      return Array.isArray(value) ? (value as SessionInfo[]) : null
    } catch {
      return null
    }
  }

  write(list: AppState['list']): void {
    if (list === null || list === this.written) return
    this.written = list
    const newest = [...list.values()].sort((a, b) => b.updated_at.localeCompare(a.updated_at)).slice(0, most)
    try {
      this.storage.setItem(key, JSON.stringify(newest))
    } catch {
      // Full or forbidden: the list is loaded as usual.
    }
  }
}
