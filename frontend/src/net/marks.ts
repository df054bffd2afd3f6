import type { AppState } from '../state/app'
import type { Left } from '../state/catchup'
import { cursor } from '../state/session'
import type { Seq } from '../wire/gen'

const key = 'abide.marks'
const keptSessions = 200

/** How far a session was applied here, and how far a person saw it. */
export interface Mark {
  epoch: string
  seq: Seq
  seen: Seq
  /** When a person last saw it, in ms. */
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

  /** When a person last saw a session of this epoch, if they ever did. */
  left(sessionId: string): (Left & { epoch: string }) | null {
    const mark = this.marks.get(sessionId)
    return mark ? { epoch: mark.epoch, seq: mark.seen, at: mark.at } : null
  }

  /** Notes how far each session held is; `shown` is the one a person sees now. */
  note(state: AppState, now: number, shown: string | null): void {
    for (const session of state.sessions.values()) {
      const place = cursor(session)
      if (place === null) continue
      const old = this.marks.get(session.id)
      const known = old?.epoch === place.epoch ? old : undefined
      const seen = session.id === shown ? place.seq : (known?.seen ?? 0)
      const at = session.id === shown ? now : (known?.at ?? 0)
      if (known?.seq !== place.seq || known.seen !== seen) this.dirty = true
      this.marks.delete(session.id) // so that the newest is last
      this.marks.set(session.id, { ...place, seen, at })
    }
  }

  /** Writes what changed; called every second, and when the page is hidden also to keep the time. */
  flush(always = false): void {
    if (!this.dirty && !always) return
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
