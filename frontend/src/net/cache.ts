import type { AbideEvent, EventsLoadedMessage, EventsMessage, Seq } from '../wire/gen'
import { own } from '../state/own'
import type { Database, KeptPage, KeptRun, Sessions } from './db'
import type { Handle } from './indexeddb'
import { isRecord, isSeq, parsed } from './kept'

const key = 'abide.cache'
/** The most events cached per session, and the most sessions cached. */
const keptEvents = 3_000
const keptSessions = 20
/** The delay before writing, so that a stream costs one transaction instead of hundreds. */
const writeMs = 400

/** The hint in localStorage about the cache: it is read before the database could be. */
export type Hint = Pick<KeptRun, 'epoch' | 'first' | 'last'>

/**
 * The newest events of the sessions looked at, kept in IndexedDB so that a page shows them before
 * the hub has answered and asks only for later ones. The hub always wins: a reset empties it. It
 * keeps one run without a hole for each session, or nothing.
 */
export class EventCache {
  private readonly runs = new Map<string, KeptRun>()
  private readonly pending = new Map<string, { reset: boolean; events: AbideEvent[] }>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly db: Database,
    private readonly storage: Storage,
  ) {}

  /** Whether, and how far, the cache should have a session. */
  hint(sessionId: string): Hint | null {
    return own(read(this.storage), sessionId) ?? null
  }

  /** Returns the kept run; null unless it is exactly the run that the hint promised, or longer. */
  async load(sessionId: string, hint: Hint): Promise<AbideEvent[] | null> {
    const events = await this.db.use((db) =>
      db.transact('readonly', ['runs', 'pages'], async (at) => {
        const run = await at('runs').get(sessionId)
        if (run?.epoch !== hint.epoch || run.last < hint.last) return null
        const pages = await at('pages').getAll(range(sessionId, 0, hint.last))
        this.runs.set(sessionId, run)
        return joined(pages)
      }),
    )
    return events?.at(-1)?.seq === hint.last ? events : null
  }

  /** Takes a frame the app has applied. */
  offer(frame: EventsMessage | EventsLoadedMessage): void {
    const id = frame.session_id
    const anew = frame.type === 'events_loaded' && (frame.verdict === 'reset' || !this.runs.has(id))
    if (frame.type === 'events_loaded' && frame.prepend && !anew) return // older pages are read again when wanted
    if (anew) {
      if (frame.events.length === 0) return
      this.runs.set(id, {
        sessionId: id,
        epoch: frame.epoch,
        first: frame.first_seq,
        last: frame.first_seq - 1,
        at: 0,
      })
      this.pending.set(id, { reset: true, events: [] })
    }
    const run = this.runs.get(id)
    if (!run || run.epoch !== frame.epoch) return
    let { last } = run
    const next: AbideEvent[] = []
    for (const event of frame.events) {
      if (event.seq <= last) continue
      if (firstOf(event) !== last + 1) return this.forget(id) // a hole: begin again later
      next.push(event)
      last = event.seq
    }
    if (next.length === 0) return
    this.runs.set(id, { ...run, last, at: Date.now() })
    const pending = this.pending.get(id) ?? { reset: false, events: [] }
    pending.events.push(...next)
    this.pending.set(id, pending)
    this.timer ??= setTimeout(() => void this.flush(), writeMs)
  }

  /** Drops the cache of a session. */
  forget(sessionId: string): void {
    this.runs.delete(sessionId)
    this.pending.delete(sessionId)
    this.promise({ [sessionId]: null })
    void this.db.use((db) => drop(db, sessionId)).catch(() => {})
  }

  /** Drops everything: this browser may not read it any more. */
  async wipe(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    this.runs.clear()
    this.pending.clear()
    this.storage.removeItem(key)
    await this.db
      .use((db) =>
        db.transact('readwrite', ['runs', 'pages'], (at) =>
          Promise.all([at('pages').clear(), at('runs').clear()]),
        ),
      )
      .catch(() => {})
  }

  /** Writes the waiting events. The hint moves only after the database has it. */
  async flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const work = [...this.pending]
    this.pending.clear()
    const promises: Record<string, Hint | null> = {}
    for (const [id, { reset, events }] of work) {
      const run = this.runs.get(id)
      if (!run) continue
      // Trims by half, so that trimming is rare.
      const first = run.last - run.first >= 2 * keptEvents ? run.last - keptEvents + 1 : run.first
      try {
        await this.db.use(async (db) => {
          if (reset) await drop(db, id)
          await db.transact('readwrite', ['runs', 'pages'], async (at) => {
            const store = at('pages')
            await Promise.all([
              store.put({ sessionId: id, first: firstOf(events[0]!), last: run.last, events }),
              first > run.first && store.delete(range(id, 0, first - 1)),
              at('runs').put({ ...run, first }),
            ])
          })
        })
        this.runs.set(id, { ...(this.runs.get(id) ?? run), first })
        promises[id] = { epoch: run.epoch, first, last: run.last }
      } catch {
        // The storage is full or the database was closed. The cache may have a gap now, so it is dropped.
        this.runs.delete(id)
        promises[id] = null
      }
    }
    this.promise(promises)
    await this.trim()
  }

  private promise(changes: Record<string, Hint | null>): void {
    const hints = read(this.storage)
    for (const [id, hint] of Object.entries(changes)) {
      delete hints[id]
      if (hint) hints[id] = hint
    }
    try {
      this.storage.setItem(key, JSON.stringify(hints))
    } catch {
      // Without hints the cache is not read, which is only slower.
    }
  }

  private async trim(): Promise<void> {
    const ids = Object.keys(read(this.storage))
    for (const id of ids.slice(0, Math.max(0, ids.length - keptSessions))) this.forget(id)
  }
}

function range(sessionId: string, from: Seq, to: Seq): IDBKeyRange {
  return IDBKeyRange.bound([sessionId, from], [sessionId, to, Number.MAX_SAFE_INTEGER])
}

async function drop(db: Handle<Sessions>, id: string): Promise<void> {
  await db.transact('readwrite', ['runs', 'pages'], (at) =>
    Promise.all([at('pages').delete(range(id, 0, Number.MAX_SAFE_INTEGER)), at('runs').delete(id)]),
  )
}

/** Joins pages, which may overlap, into one run; null where there is a hole. */
function joined(pages: readonly KeptPage[]): AbideEvent[] | null {
  const run: AbideEvent[] = []
  for (const event of [...pages].sort((a, b) => a.first - b.first).flatMap((page) => page.events)) {
    const last = run.at(-1)?.seq
    if (last !== undefined && event.seq <= last) continue
    if (last !== undefined && firstOf(event) !== last + 1) return null
    run.push(event)
  }
  return run
}

function firstOf(event: AbideEvent): Seq {
  return event.first_seq ?? event.seq
}

function read(storage: Storage): Record<string, Hint> {
  const value = parsed(storage, key)
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).filter((line): line is [string, Hint] => isHint(line[1])))
    : {}
}

function isHint(value: unknown): value is Hint {
  return (
    isRecord(value) && typeof value['epoch'] === 'string' && isSeq(value['first']) && isSeq(value['last'])
  )
}
