import { indexOf, type Feed } from './feed'
import type { TurnEndItem } from './items'

/** Says whether the agent ended a turn without a message, a call or a plan. */
export function silent(feed: Feed, end: TurnEndItem): boolean {
  for (let i = indexOf(feed.items, end.seq) - 1; i >= 0; i--) {
    const item = feed.items.get(i)
    if (item.turn !== end.turn) continue
    if (item.kind === 'prompt') return true
    if (item.kind === 'tool' || item.kind === 'plan' || item.kind === 'content') return false
    if (item.kind === 'text' && item.role === 'message' && item.text.trim() !== '') return false
  }
  return false
}
