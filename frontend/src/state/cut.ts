import { indexOf, type Feed } from './feed'
import type { ToolItem } from './items'
import { verdictOn } from './requests'

/** Why a call ended before it was done: a person stopped the turn, the hub restarted, the agent ended. */
export type Cut = 'stopped' | 'hub' | 'agent' | 'unknown'

/** Returns why a call ended before it was done; null of a call that ended by itself, or that still runs. */
export function cutOf(feed: Feed, call: ToolItem): Cut | null {
  const withdrawn = call.status === 'failed' && verdictOn(feed, call).unanswered
  if (!call.synthetic && !withdrawn) return null
  // The end of the turn follows the calls it closes.
  for (let i = Math.max(0, indexOf(feed.items, call.last)); i < feed.items.length; i++) {
    const item = feed.items.get(i)
    if (item.kind !== 'turn_end' || item.seq < call.last) continue
    switch (item.stopReason) {
      case 'cancelled':
      case 'interrupted':
        return 'stopped'
      case 'hub_restart':
        return 'hub'
      case 'agent_exit':
        return 'agent'
      default:
        return 'unknown'
    }
  }
  return 'unknown'
}

/** The words for such a call: one beside its title, and a sentence below it. */
export const cutWords: Readonly<Record<Cut, { readonly word: string; readonly sentence: string }>> = {
  stopped: { word: t`stopped`, sentence: t`Stopped before it finished.` },
  hub: { word: t`interrupted`, sentence: t`Interrupted when the hub restarted.` },
  agent: { word: t`interrupted`, sentence: t`Interrupted: the agent ended.` },
  unknown: { word: t`not finished`, sentence: t`It did not finish.` },
}
