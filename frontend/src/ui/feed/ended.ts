import type { TurnEndItem } from '../../state/items'
import { own } from '../../state/own'
import type { StopReason } from '../../wire/gen'

const words: Partial<Record<StopReason, string>> = {
  end_turn: t`Done`,
  max_tokens: t`Stopped: the answer reached its limit of tokens`,
  max_turn_requests: t`Stopped: too many requests in one turn`,
  refusal: t`The agent refused`,
  hub_restart: t`Interrupted: the hub restarted.`,
  agent_exit: t`Interrupted: the agent ended.`,
}

/** How a turn ended, in words; `who` is the person who stopped it, or empty. */
export function endedHow(item: Pick<TurnEndItem, 'stopReason' | 'error'>, who: string): string {
  const by = who === '' ? '' : t` by ${who === t`You` ? t`you` : who}`
  if (item.stopReason === 'cancelled') return t`Stopped${by}`
  if (item.stopReason === 'interrupted') return item.error ? t`Failed` : t`Force-stopped${by}`
  return own(words, item.stopReason) ?? item.stopReason
}
