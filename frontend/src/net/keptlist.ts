import type { AppState } from '../state/app'
import type { SessionInfo } from '../wire/gen'
import { isRecord, isSeq, parsed } from './kept'

const key = 'abide.list'
const most = 60

/** The session list of the last visit: something to show before the hub answers, or without it. */
export class KeptList {
  private written: AppState['list'] = null

  constructor(private readonly storage: Storage) {}

  read(): readonly SessionInfo[] | null {
    const value = parsed(this.storage, key)
    return Array.isArray(value) ? value.filter(isLine) : null
  }

  write(list: AppState['list']): void {
    if (list === null || list === this.written) return
    this.written = list
    const newest = [...list.values()]
      .sort((a, b) => Number(a.archived) - Number(b.archived) || b.updated_at.localeCompare(a.updated_at))
      .slice(0, most)
    try {
      this.storage.setItem(key, JSON.stringify(newest))
    } catch {
      // Full or forbidden: the list is loaded as usual.
    }
  }

  /** Drops all lines: this browser may not read them any more. That it was paired once is kept. */
  wipe(): void {
    this.written = null
    try {
      if (this.storage.getItem(key) !== null) this.storage.setItem(key, '[]')
    } catch {
      this.storage.removeItem(key)
    }
  }
}

/** The fields for the list's order and lines; the rest may be missing, as in an older hub's. */
function isLine(value: unknown): value is SessionInfo {
  return (
    isRecord(value) &&
    ['session_id', 'updated_at', 'status', 'workspace'].every((f) => typeof value[f] === 'string') &&
    isSeq(value['max_seq'])
  )
}
