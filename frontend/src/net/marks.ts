import type { AppState } from '../state/app'
import { cursor } from '../state/session'
import type { Seq } from '../wire/gen'

const key = 'abide.marks'
const keptSessions = 200

export interface Mark {
  epoch: string
  seq: Seq
  /** When the mark was last moved, in ms. */
  at: number
}

/**
 * Keeps each session's watermark {epoch, seq} where a killed tab leaves it:
 * localStorage is the one store that is written before the page can be frozen.
 */
export class Marks {
  private readonly marks: Map<string, Mark>
  private dirty = false

  constructor(private readonly storage: Storage) {
    this.marks = new Map(read(storage))
  }

  get(sessionId: string): Mark | undefined {
    return this.marks.get(sessionId)
  }

  /** Notes how far each session held is. */
  note(state: AppState, now: number): void {
    for (const session of state.sessions.values()) {
      const at = cursor(session)
      if (at === null) continue
      const mark = this.marks.get(session.id)
      if (mark?.epoch === at.epoch && mark.seq === at.seq) continue
      this.marks.delete(session.id) // so that the newest is last
      this.marks.set(session.id, { ...at, at: now })
      this.dirty = true
    }
  }

  /** Writes what changed; called every second and when the page is hidden. */
  flush(): void {
    if (!this.dirty) return
    this.dirty = false
    const kept = [...this.marks].slice(-keptSessions)
    try {
      this.storage.setItem(key, JSON.stringify(Object.fromEntries(kept)))
    } catch {
      // Full or forbidden: without marks the app only shows no "since you left".
    }
  }
}

function read(storage: Storage): [string, Mark][] {
  try {
    const value: unknown = JSON.parse(storage.getItem(key) ?? '{}')
    return typeof value === 'object' && value !== null ? Object.entries(value as Record<string, Mark>) : []
  } catch {
    return []
  }
}
