import type { Seq } from '../wire/gen'
import { indexOf, type Feed } from './feed'
import { toolView, type FileChange } from './tool'

/** When a person last saw a session, and how far it was then. */
export interface Left {
  readonly seq: Seq
  /** ms of Date.now. */
  readonly at: number
}

export interface Summary {
  readonly events: number
  readonly turns: number
  readonly toolCalls: number
  readonly files: readonly FileChange[]
  /** Permission requests still waiting. */
  readonly questions: number
  /** The first seq not seen. */
  readonly first: Seq
}

/** Computes from events what happened since a person left. */
export function catchUp(feed: Feed, left: Left): Summary {
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
      if (item.status === 'completed') files.push(...toolView(item).changes)
    } else if (item.kind === 'turn_end') turns++
    else if (item.kind === 'permission' && item.ask && !item.outcome) questions++
  }
  return {
    events: Math.max(0, feed.last - left.seq),
    turns,
    toolCalls,
    files,
    questions,
    first: left.seq + 1,
  }
}
