import type { InterruptReason } from '../wire/gen'
import { own } from './own'

/** Why a turn was interrupted, as the hub says it in lists, notifications and exports (InterruptReason.Words in Go). */
const causes: Readonly<Record<InterruptReason, string>> = {
  hub_restart: t`Interrupted: the hub restarted.`,
  hub_stop: t`Interrupted: the hub was stopped.`,
  agent_exit: t`Interrupted: the agent ended.`,
  agent_restart: t`Interrupted: the agent was restarted.`,
  provider_error: t`Failed: the model's provider answered with an error.`,
  agent_cancelled: t`Interrupted: the agent cancelled the turn by itself.`,
  person_paused: t`Interrupted: the session was paused.`,
  paused: t`Waiting for your choice: the turn has not begun.`,
}

export const causeWords = (reason: InterruptReason) =>
  own(causes, reason) ?? t`Interrupted: it did not end by itself.`
