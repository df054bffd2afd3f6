import type { PlanEntry, Seq } from '../wire/gen'
import { before, emptyFeed, type Feed, type Latest } from './feed'
import { Chunks } from './chunks'
import type { Item, PermissionItem, ToolItem } from './items'
import { toolView } from './tool'

/** The state of a session at a seq, beside its feed. */
export interface Moment {
  readonly seq: Seq
  /** The newest turn, 0 before the first. */
  readonly turn: number
  /** That turn had not ended. */
  readonly open: boolean
  readonly calls: readonly { key: string; title: string }[]
  readonly questions: readonly { key: string; title: string }[]
  readonly plan: readonly PlanEntry[]
  readonly latest: Latest
}

/**
 * Reads a moment from the fold of all events up to it, or of the part that `carried` kept of those.
 */
export function momentOf(feed: Feed): Moment {
  let prompt: Item | undefined
  let end: Item | undefined
  let plan: Extract<Item, { kind: 'plan' }> | undefined
  const calls: { key: string; title: string }[] = []
  const questions: { key: string; title: string }[] = []
  for (const item of feed.items) {
    if (item.kind === 'prompt') prompt = item
    else if (item.kind === 'turn_end') end = item
    else if (item.kind === 'plan' && (!plan || item.last > plan.last)) plan = item
    else if (isOpenCall(item)) calls.push({ key: item.key, title: toolView(item).title })
    else if (isOpenQuestion(item)) questions.push({ key: item.key, title: item.ask?.title ?? '' })
  }
  return {
    seq: feed.last,
    turn: Math.max(prompt?.turn ?? 0, end?.turn ?? 0),
    open: prompt !== undefined && (end === undefined || end.seq < prompt.seq),
    calls,
    questions,
    plan: plan?.entries ?? [],
    latest: feed.latest,
  }
}

/** Keeps the part of a fold that later moments need: a keyframe. It does not grow with the log. */
export function carried(feed: Feed): Feed {
  const { turn } = momentOf(feed)
  let prompt: Item | undefined
  let end: Item | undefined
  let plan: Item | undefined
  for (const item of feed.items) {
    if (item.kind === 'prompt') prompt = item
    else if (item.kind === 'turn_end') end = item
    else if (item.kind === 'plan' && (!plan || item.last > plan.last)) plan = item
  }
  const kept = Chunks.empty.builder() as ReturnType<Chunks<Item>['builder']>
  const calls = [...feed.items].filter((i) => i.kind === 'tool' && i.turn === turn)
  const late = new Set(calls.slice(-callsKept))
  for (const item of feed.items) {
    const needed = item === prompt || item === end || item === plan || late.has(item)
    if (needed || isOpenCall(item) || isOpenQuestion(item)) kept.push(item)
  }
  return before(emptyFeed(feed.first - 1), { ...feed, items: kept.done() })
}

/** Calls of the newest turn that a keyframe keeps though they ended: agents add to some afterwards. */
const callsKept = 200

function isOpenCall(item: Item): item is ToolItem {
  return item.kind === 'tool' && item.status !== 'completed' && item.status !== 'failed'
}

function isOpenQuestion(item: Item): item is PermissionItem {
  return item.kind === 'permission' && item.ask !== undefined && item.outcome === undefined
}
