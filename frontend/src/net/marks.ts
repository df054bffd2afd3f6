import type { AppState } from '../state/app'
import type { Left } from '../state/catchup'
import { cursor } from '../state/session'
import type { Seq } from '../wire/gen'
import { isRecord, isSeq, parsed } from './kept'

const prefix = 'abide.mark.'
const keptSessions = 200

/** The last seq applied in this page, and the last one that a person saw. */
export interface Mark {
  epoch: string
  seq: Seq
  seen: Seq
  /** When a person last saw it, in ms; 0 if it was never read. */
  at: number
}

/**
 * Keeps each session's watermark {epoch, seq} where a killed tab leaves it: localStorage is the one
 * store that is written before the page can be frozen. The device's tabs share it: each session has
 * a key of its own, and a write there never lowers the mark of another tab in the same epoch.
 */
export class Marks {
  /** This page's marks. */
  private readonly own = new Map<string, Mark>()
  /** Sessions with marks that moved since they were written. */
  private readonly moved = new Set<string>()

  constructor(private readonly storage: Storage) {}

  /** When a person last saw a session of this epoch, if they ever did. */
  left(sessionId: string): (Left & { epoch: string }) | null {
    const mark = this.mark(sessionId)
    return mark && mark.at > 0 ? { epoch: mark.epoch, seq: mark.seen, at: mark.at } : null
  }

  /** Notes how far each session held is; `shown` is the one a person sees now. */
  note(state: AppState, now: number, shown: string | null): void {
    for (const session of state.sessions.values()) {
      const place = cursor(session)
      if (place === null) continue
      const old = this.mark(session.id)
      const known = old?.epoch === place.epoch ? old : undefined
      const seen = session.id === shown ? place.seq : (known?.seen ?? 0)
      const at = session.id === shown ? now : (known?.at ?? 0)
      const was = this.own.get(session.id)
      if (was?.epoch !== place.epoch || was.seq !== place.seq || was.seen !== seen) this.moved.add(session.id)
      this.own.set(session.id, { ...place, seen, at })
    }
  }

  /**
   * Writes the moved marks; called every second, and when the page is hidden also to keep the time.
   */
  flush(always = false): void {
    for (const id of always ? this.own.keys() : this.moved) {
      const fresh = this.read(id) === null
      try {
        this.storage.setItem(prefix + id, JSON.stringify(this.mark(id)))
        this.moved.delete(id)
      } catch {
        // Full or forbidden: without marks the app only shows no "since you left".
      }
      if (fresh) this.trim()
    }
  }

  /** The newest mark of this page and the device's other tabs. */
  private mark(id: string): Mark | null {
    const own = this.own.get(id) ?? null
    const stored = this.read(id)
    if (!own || !stored) return own ?? stored
    if (own.epoch === stored.epoch) return furthest(own, stored)
    return stored.at > own.at ? stored : own
  }

  private read(id: string): Mark | null {
    const value = parsed(this.storage, prefix + id)
    return isMark(value) ? value : null
  }

  /** Removes the marks of the sessions seen longest ago. */
  private trim(): void {
    const ids: string[] = []
    for (let i = 0; i < this.storage.length; i++) {
      const key = this.storage.key(i)
      if (key?.startsWith(prefix)) ids.push(key.slice(prefix.length))
    }
    if (ids.length <= keptSessions) return
    const held = ids.map((id) => ({ id, at: this.own.get(id)?.at || (this.read(id)?.at ?? 0) }))
    held.sort((a, b) => b.at - a.at)
    for (const { id } of held.slice(keptSessions)) {
      if (!this.own.has(id)) this.storage.removeItem(prefix + id)
    }
  }
}

function furthest(a: Mark, b: Mark): Mark {
  const most = (field: 'seq' | 'seen' | 'at') => Math.max(a[field], b[field])
  return { epoch: a.epoch, seq: most('seq'), seen: most('seen'), at: most('at') }
}

function isMark(value: unknown): value is Mark {
  return (
    isRecord(value) &&
    typeof value['epoch'] === 'string' &&
    isSeq(value['seq']) &&
    isSeq(value['seen']) &&
    isSeq(value['at'])
  )
}
