import { getContext, setContext } from 'svelte'
import { emptyFeed, type Feed } from '../../state/feed'
import type { PromptItem } from '../../state/items'
import type { Comment } from '../../wire/gen'
import { FirstUnread } from '../../state/read'
import { QueueEdit } from './queueedit.svelte'

/** The values shared by all parts of one session's screen. */
export class SessionView {
  feed: Feed = $state.raw(emptyFeed(0))
  /** Where the person has yet to read. */
  unread = new FirstUnread()
  /** The first of that, for the line above it. */
  newFrom: number | null = $state(null)
  workspace = $state('')
  /** The agent is at work: the newest text may still grow. */
  running = $state(false)
  /** The turn that goes on; -1 while none does. */
  turn = $state(-1)
  /** The entry the inspector shows: its first and last seq, and the key of the call or terminal it may be. */
  selected = $state.raw<{ seq: number; last: number; call?: string | undefined } | null>(null)
  /** The details over the feed are of the selected call alone, all of it. */
  full = $state(false)
  /** Tool calls that wait for an answer: the sheet shows their actions. */
  asking: ReadonlySet<string> = $state.raw(new Set())
  /** Puts a prompt into the composer once more; null where there is no composer. */
  again: ((prompt: PromptItem) => void) | null = $state.raw(null)
  /** The parts that the person opened or closed, against the default. */
  private opened: ReadonlyMap<string, boolean> = $state.raw(new Map())

  /** The comments on the session, once it is known to have some. */
  comments: readonly Comment[] = $state.raw([])

  readonly edit: QueueEdit

  constructor(readonly id: string) {
    this.edit = new QueueEdit(id)
  }

  isOpen(key: string, byItself: boolean): boolean {
    return this.opened.get(key) ?? byItself
  }

  setOpen(key: string, open: boolean): void {
    this.opened = new Map(this.opened).set(key, open)
  }
}

/** The key by which a group of calls is opened; of is its row's, or that of the call they belong to. */
export function groupKey(of: string): string {
  return `group:${of}`
}

const key = Symbol('session view')

export function provideView(view: SessionView): void {
  setContext(key, view)
}

export function useView(): SessionView {
  return getContext<SessionView>(key)
}
