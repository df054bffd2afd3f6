import type { FoundTitle, Hit } from '../../wire/gen'
import type { Intents } from '../../state/intents'

/** How long a person pauses before the typed text is searched for. */
export const debounceMs = 250
/** How many hits are fetched before the person is asked whether there should be more. */
export const batch = 20

/** How many hits of one session are shown at first. */
export const few = 3

/** How far a search is; its hits stay in any case. */
export interface Finding {
  readonly text: string
  /** More: there is more than was asked for. Broken off: the connection went, it goes on by itself. */
  readonly status: 'searching' | 'more' | 'stopped' | 'broken off' | 'done' | 'failed'
  readonly hits: readonly Hit[]
  /** Sessions whose title is what was typed but for a letter. */
  readonly titles: readonly FoundTitle[]
  readonly sessions: number
  readonly left: number
  /** Sessions the hub could not read, or only in part. */
  readonly skipped: readonly string[]
  readonly problem: string
}

export const nothing: Finding = {
  text: '',
  status: 'done',
  hits: [],
  titles: [],
  sessions: 0,
  left: 0,
  skipped: [],
  problem: '',
}

/** Searches the text of sessions: one search at a time, page by page, until there is a batch of hits. */
export class Finder {
  private finding = nothing
  private cursor = ''
  private request: AbortController | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly search: Intents['search'],
    private readonly changed: (finding: Finding) => void,
  ) {}

  /** Searches for a text once no other follows it; the same text again goes on where it broke off or failed. */
  start(text: string, anew = false): void {
    if (text === this.finding.text && !anew) {
      if (this.finding.status === 'broken off' || this.finding.status === 'failed') this.more()
      return
    }
    this.dispose()
    this.cursor = ''
    this.set({ ...nothing, text, status: 'searching' })
    this.timer = setTimeout(() => void this.run(), debounceMs)
  }

  /** Goes on for another batch. */
  more(): void {
    this.dispose()
    this.set({ status: 'searching', problem: '' })
    void this.run()
  }

  /** Ends the search under way. */
  stop(why: 'stopped' | 'broken off' = 'stopped'): void {
    if (this.finding.status !== 'searching') return
    this.dispose()
    this.set({ status: why })
  }

  /** Lets go of the request and the timer. */
  dispose(): void {
    clearTimeout(this.timer)
    this.request?.abort()
  }

  private async run(): Promise<void> {
    const { signal } = (this.request = new AbortController())
    const enough = shown(this.finding.hits) + batch
    const most = this.finding.hits.length + 10 * batch
    try {
      while (this.finding.status === 'searching' && !signal.aborted) {
        const page = await this.search(this.finding.text, this.cursor, signal)
        if (signal.aborted) return
        this.cursor = page.next_cursor ?? ''
        const hits = [...this.finding.hits, ...page.hits]
        const titles = [...this.finding.titles, ...(page.titles ?? [])]
        const status = page.done
          ? 'done'
          : shown(hits) >= enough || hits.length >= most
            ? 'more'
            : 'searching'
        this.set({
          hits,
          titles,
          status,
          sessions: page.sessions,
          left: page.sessions_left,
          skipped: [...this.finding.skipped, ...(page.skipped ?? [])],
        })
      }
    } catch (error) {
      if (!signal.aborted) this.set({ status: 'failed', problem: (error as Error).message })
    }
  }

  private set(change: Partial<Finding>): void {
    this.finding = { ...this.finding, ...change }
    this.changed(this.finding)
  }
}

/** How many of the hits are shown at first. */
function shown(hits: readonly Hit[]): number {
  const of = new Map<string, number>()
  for (const { session_id } of hits) of.set(session_id, (of.get(session_id) ?? 0) + 1)
  return [...of.values()].reduce((sum, n) => sum + Math.min(n, few), 0)
}
