import type { Drift, InterruptReason, Offer, Restore, TurnPhase, Way } from '../wire/gen'
import { causeWords } from './cause'
import { own } from './own'

const phases: Readonly<Record<TurnPhase, string>> = {
  streaming_llm: t`while it was answering`,
  executing_tools: t`while a tool was running`,
  delegating: t`while a sub-agent was working`,
}

/** Says why a turn was interrupted, and during which activity. */
export function cutOffWords(reason: InterruptReason, phase: TurnPhase): string {
  const doing = reason === 'paused' ? undefined : own(phases, phase)
  return doing ? `${causeWords(reason).replace(/\.$/, '')} ${doing}.` : causeWords(reason)
}

/** Names the lost permission request and its action. */
export function lostWords(offer: Offer): string {
  const lost = offer.lost_question
  if (!lost) return ''
  return t`It was waiting for your answer to “${lost.title}”. Resume to be asked again.`
}

const settings: Readonly<Record<string, string>> = {
  agent: t`Agent`,
  version: t`Version`,
  mode: t`Mode`,
  model: t`Model`,
  mcp_servers: t`MCP servers`,
}

const mismatches: Readonly<Record<string, string>> = {
  branch: t`A different branch is checked out now.`,
  repository: t`Its folder holds a different repository now.`,
  workspace: t`Its folder was replaced by another.`,
  agent: t`Its agent’s command was changed or removed in the configuration.`,
}

/** Names the changes of the workspace. */
export function mismatchWords(names: readonly string[]): string {
  return names.map((name) => own(mismatches, name) ?? name).join(' ')
}

/** Says which setting differs, and how. */
export function driftWords(drift: Drift): string {
  const what = own(settings, drift.field) ?? drift.field.replace(/^options\./, '')
  return t`${what}: ${drift.current || t`not offered`}, before ${drift.recorded}${drift.allows_more ? t` — may allow more` : ''}`
}

const ways: Readonly<Record<string, string>> = {
  auto: t`Default`,
  server: t`Its own session`,
  local: t`Short summary`,
  segmented: t`Full history`,
}

const number = new Intl.NumberFormat('en')

/** Says how the agent gets its memory back, and the cost of that. */
export function wayWords(way: Pick<Way, 'way' | 'tokens' | 'segments'> | 'auto'): string {
  if (way === 'auto') return own(ways, way) ?? way
  const takes = way.segments
    ? t`: ${segments(way.segments)}, about ${number.format(way.tokens ?? 0)} tokens`
    : ''
  return (own(ways, way.way) ?? way.way) + takes
}

/** Says how far the agent was told the session. */
export function restoreWords(restore: Restore): string {
  return t`The agent is told this session: ${restore.done} of ${segments(restore.total)}, about ${number.format(restore.tokens)} tokens in all.`
}

const segments = (n: number) => `${number.format(n)} ${n === 1 ? t`segment` : t`segments`}`
