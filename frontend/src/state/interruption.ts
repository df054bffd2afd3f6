import type { Drift, InterruptReason, Offer, Restore, TurnPhase, Way } from '../wire/gen'
import { own } from './own'

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
  if (reason === 'paused') return 'The turn has not begun.'
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

const settings: Readonly<Record<string, string>> = {
  agent: 'Agent',
  version: 'Version',
  mode: 'Mode',
  model: 'Model',
  mcp_servers: 'MCP servers',
}

const mismatches: Readonly<Record<string, string>> = {
  branch: 'Another branch is checked out than then.',
  repository: 'Its folder holds another repository than then.',
  workspace: 'Its folder is another one than then.',
  agent: 'Its agent is configured with another command than then, or not at all.',
}

/** Says what of the workspace is not as it was. */
export function mismatchWords(names: readonly string[]): string {
  return names.map((name) => own(mismatches, name) ?? name).join(' ')
}

/** Says which setting differs, and how. */
export function driftWords(drift: Drift): string {
  const what = own(settings, drift.field) ?? drift.field.replace(/^options\./, '')
  return `${what}: ${drift.current}, before ${drift.recorded}${drift.allows_more ? ' — may allow more' : ''}`
}

const ways: Readonly<Record<string, string>> = {
  auto: 'As the hub is configured',
  server: 'Its own session',
  local: 'A short account of this session',
  segmented: 'All of this session',
}

const number = new Intl.NumberFormat('en')

/** Says how the agent gets its memory back, and what that takes. */
export function wayWords(way: Pick<Way, 'way' | 'tokens' | 'segments'> | 'auto'): string {
  if (way === 'auto') return own(ways, way) ?? way
  const takes = way.segments
    ? `: ${count(way.segments, 'segment')}, about ${number.format(way.tokens ?? 0)} tokens`
    : ''
  return (own(ways, way.way) ?? way.way) + takes
}

/** Says how far the agent was told the session. */
export function restoreWords(restore: Restore): string {
  return `The agent is told this session: ${restore.done} of ${count(restore.total, 'segment')}, about ${number.format(restore.tokens)} tokens in all.`
}

const count = (n: number, what: string) => `${number.format(n)} ${what}${n === 1 ? '' : 's'}`
