import { tick, untrack } from 'svelte'
import { outer, span, type Row } from '../../state/rows'
import type { SessionState } from '../../state/session'
import { isShown, nearest } from '../../state/window'
import type { Screens } from '../app.svelte'
import type { Action } from '../keys'
import type { Reader } from './reader.svelte'
import { stepFrom, steps, type Step } from './steps'
import { groupKey, type SessionView } from './view.svelte'

interface Feed {
  readonly app: Screens
  readonly view: SessionView
  readonly reader: Reader
  session(): SessionState
  rows(): readonly Row[]
  /** The rows that are in the page, `to` excluded. */
  range(): { readonly from: number; readonly to: number }
}

/** Takes a person through a feed: to its end, to a seq, to the next row of some kind. Made while a component is. */
export class Moves {
  /** Where to go once it is here, and whether it was asked for. */
  private wanted: number | null = $state(null)
  private asked = false
  /** Whether an address led there: a group that hides it is opened. */
  private unfold = false
  /** How far below the top of the view its row is to be; by itself near the top. */
  private offset: number | undefined
  /** Where they were before an address took them to a seq; 0: at the end. */
  private before: { seq: number; offset: number } | 0 | null = null

  constructor(private readonly feed: Feed) {
    $effect(() => this.arrive())
  }

  /** Goes to a seq, loaded or not. */
  jump = (to: number, offset?: number) => {
    this.feed.view.selected = null
    this.asked = this.unfold = false
    this.offset = offset
    this.wanted = to
  }

  /** Goes where the address says; once it names no seq any more, back to where they were before it did. */
  visit(seq: number | null): void {
    const { reader, rows } = this.feed
    const { before } = this
    if (seq !== null) {
      const at = reader.following ? null : reader.at
      const row = at && rows()[reader.heights.indexOf(at.key)]
      this.before ??= row ? { seq: span(row).first, offset: at.offset } : 0
      this.jump(seq)
      this.unfold = true
      return
    }
    this.before = null
    if (before) this.jump(before.seq, before.offset)
    else if (before === 0) this.toEnd()
  }

  toEnd = () => {
    const { app, reader, session, view } = this.feed
    this.wanted = view.selected = null
    app.hub.live(session().id)
    reader.away = false
    reader.toEnd()
    // A row that has the focus is left behind: the next step is from the end.
    if (document.activeElement?.closest('[data-key]')) {
      void tick().then(() => {
        const last = this.feed.rows().at(-1)
        if (last) reader.focus(last.key)
      })
    }
  }

  act = (action: Action) => {
    const { session, view } = this.feed
    const step = steps[action]
    if (step) this.go(step)
    else if (action === 'open') document.activeElement?.querySelector<HTMLElement>('[aria-expanded]')?.click()
    else if (action === 'end') this.toEnd()
    else if (action === 'top') this.jump(session().minSeq)
    else if (action === 'unread' && view.unread.seq !== null) this.jump(view.unread.seq)
  }

  /** Goes to the prompt before the row in view, which has no focus where it is read by touch. */
  earlierPrompt = () => {
    const { app, reader } = this.feed
    const rows = this.feed.rows()
    const at = reader.at
    const to = stepFrom(rows, at ? reader.heights.indexOf(at.key) : rows.length, steps.previous_prompt!)
    if (to < 0) return app.say(t`No earlier prompts.`)
    reader.stay()
    reader.toRow(rows[to]!.key)
  }

  private arrive(): void {
    const { app, reader, view } = this.feed
    const session = this.feed.session()
    const rows = this.feed.rows()
    if (this.wanted === null || rows.length === 0 || session.seeking !== null) return
    if (this.wanted > session.maxSeq) {
      // The device's copy may end before the log does: the hub's state has the log's end.
      if (!session.live) return
      const text = t`Event ${this.wanted} is not in this session: it ends at ${session.maxSeq}.`
      untrack(() => app.store.dispatch({ kind: 'problem', sessionId: session.id, text }))
    }
    const at = nearest(session, this.wanted)
    const to = outer(rows, at)
    if (!isShown(session, to) && !this.asked) {
      this.asked = true
      reader.following = false
      return app.hub.seek(session.id, to)
    }
    this.wanted = null
    const row = rows.findLast((r) => span(r).first <= to) ?? rows[0]
    if (!row) return
    const calls = row.kind === 'group' ? row.tools : row.calls
    if (this.unfold && calls?.some((call) => call.seq === at)) {
      const of = row.kind === 'group' ? row.key : row.item.key
      untrack(() => view.setOpen(groupKey(of), true))
    }
    const share = () => {
      const { first, last } = span(this.feed.rows()[reader.heights.indexOf(row.key)] ?? row)
      return (to - first) / (last - first + 1)
    }
    untrack(() => reader.toRow(row.key, this.offset, share))
  }

  /** Moves the focus to another row, in the page or not. */
  private go(step: Step): void {
    const { app, reader } = this.feed
    const rows = this.feed.rows()
    const range = this.feed.range()
    const at = document.activeElement?.closest<HTMLElement>('[data-key]')?.dataset['key']
    const focused = reader.focusing ?? at ?? reader.key
    const from = focused === undefined ? (step.by > 0 ? -1 : rows.length) : reader.heights.indexOf(focused)
    const to = stepFrom(rows, from, step)
    // A key that does nothing looks broken.
    if (to < 0) {
      if (step.what) app.say(step.by > 0 ? t`No more ${step.what}.` : t`No earlier ${step.what}.`)
      return
    }
    reader.stay()
    const { key } = rows[to]!
    if (to < range.from || to >= range.to) reader.toRow(key)
    reader.focus(key)
  }
}
