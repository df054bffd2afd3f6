import type { InterruptReason, PermissionOption, ResumeWay, TurnPhase } from '../wire/gen'
import { own } from './own'

/** A turn that was cut off, and how it can be resumed. */
export interface Offer {
  interruption_id: string
  age_s: number
  /** A resume has to be confirmed because of the age. */
  stale: boolean
  mismatch: readonly string[]
  lost_question?: { title: string; options: readonly PermissionOption[] }
  /** What the agent is told. */
  prompt: string
  held: boolean
  ways: readonly { way: ResumeWay; available: boolean; why?: string }[]
}

const reasons: Readonly<Record<InterruptReason, string>> = {
  hub_restart: 'the hub ended without warning',
  hub_stop: 'the hub was stopped',
  agent_exit: 'the agent ended',
  agent_restart: 'the agent was restarted',
  provider_error: 'the model’s provider failed',
  paused: 'it was paused',
}

const phases: Readonly<Record<TurnPhase, string>> = {
  streaming_llm: 'while it was answering',
  executing_tools: 'while a tool was running',
  delegating: 'while a sub-agent was at work',
}

/** Says why a turn was cut off and in the middle of what. */
export function cutOffWords(reason: InterruptReason, phase: TurnPhase): string {
  const doing = own(phases, phase)
  return `The turn was cut off${doing ? ` ${doing}` : ''}: ${own(reasons, reason) ?? reason}.`
}

/** Says which question was lost, and what it would have allowed. */
export function lostWords(offer: Offer): string {
  const lost = offer.lost_question
  if (!lost) return ''
  const allows = lost.options.filter((o) => o.kind === 'allow_once' || o.kind === 'allow_always')
  const answers = allows.map((o) => `“${o.name}”`).join(' or ')
  return `A question was lost: “${lost.title}”${answers ? `, which ${answers} would have allowed` : ''}. If you resume, the agent asks again.`
}
