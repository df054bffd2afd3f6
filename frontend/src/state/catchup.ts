import type { Seq } from '../wire/gen'
import { indexOf } from './feed'
import { wasDone } from './requests'
import type { SessionState } from './session'
import { toolView, type FileChange } from './tool'

/** When a person last saw a session, and how far it was then. */
export interface Left {
  readonly seq: Seq
  /** ms of Date.now. */
  readonly at: number
}

export interface Summary {
  /** All events missed, loaded or not. */
  readonly events: number
  /** Whether all of them are loaded: if not, turns, tool calls and files are at least these. */
  readonly whole: boolean
  /** How many of the events the hub no longer keeps, so they are not described. */
  readonly removed: number
  readonly turns: number
  readonly toolCalls: number
  readonly files: readonly FileChange[]
  /** Permission requests still waiting. */
  readonly questions: number
  /** The first seq not seen that can still be read. */
  readonly first: Seq
}

/** Computes a summary of the live run's events since a person left. */
export function catchUp(session: SessionState, left: Left): Summary {
  const { feed } = session
  const whole = feed.first <= left.seq + 1
  let turns = 0
  let toolCalls = 0
  let questions = 0
  const files: FileChange[] = []
  // Items that began before may have changed since; there are few of them at the end.
  for (let i = Math.max(0, indexOf(feed.items, left.seq) - 20); i < feed.items.length; i++) {
    const item = feed.items.get(i)
    if (item.last <= left.seq) continue
    if (item.kind === 'tool') {
      toolCalls++
      if (wasDone(feed, item)) files.push(...toolView(item).changes)
    } else if (item.kind === 'turn_end') turns++
    else if (item.kind === 'permission' && item.ask && !item.outcome) questions++
  }
  return {
    events: Math.max(0, feed.last - left.seq),
    whole,
    removed: Math.max(0, session.minSeq - 1 - left.seq),
    turns,
    toolCalls,
    files,
    // Waiting requests are state: known also where their events are not loaded.
    questions: whole ? questions : Math.max(questions, session.live?.pending_permissions?.length ?? 0),
    first: Math.max(left.seq + 1, session.minSeq),
  }
}
