import type { Choices } from '../../state/intents'
import type { JobPreset, JobRetention, NewJob } from '../../wire/gen'
import { agentOf, folderOf, pickedOf } from '../list/beginning'
import type { NewFields } from '../list/newdraft.svelte'

/** A further attempt at the task: its agent and model; empty is that of the first. */
export interface Attempt {
  agent: string
  model: string
}

/** The attempts after the first, as the form has them. */
export function othersOf(fields: NewFields): Attempt[] {
  let kept: unknown
  try {
    kept = JSON.parse(fields.others || '[]')
  } catch {
    // Nothing was chosen.
  }
  const chosen = Array.isArray(kept) ? (kept as Partial<Attempt>[]) : []
  return Array.from({ length: attemptsOf(fields) - 1 }, (_, i) => ({
    agent: String(chosen[i]?.agent ?? ''),
    model: String(chosen[i]?.model ?? ''),
  }))
}

/** How many jobs attempt the task. */
export const attemptsOf = (fields: NewFields): number =>
  Math.min(4, Math.max(1, Number(fields.attempts) || 1))

/** Whether the attempts have several agents: each then begins in its own mode. */
export const severalAgents = (first: string, others: readonly Attempt[]): boolean =>
  others.some(({ agent }) => agent !== '' && agent !== first)

/** The job that the form asks for; undefined without an agent. */
export function jobOf(choices: Choices | null, fields: NewFields): NewJob | undefined {
  const chosen = agentOf(choices, fields)
  if (!chosen) return
  const { prompt = '', preset, minutes, silent, rounds, tokens, cost, events, output } = fields
  const { park, auto, here, auditor, retention } = fields
  const picked = pickedOf(chosen, fields)
  const others = othersOf(fields)
  const several = severalAgents(chosen.name, others)
  const all = [{ agent: chosen.name, model: picked.model ?? '' }, ...others]
  const models = all.map(({ model, agent }) => model || (agent && agent !== chosen.name ? '' : all[0]!.model))
  return {
    ...(several ? { agents: all.map(({ agent }) => agent || chosen.name) } : { agent: chosen.name }),
    workspace: folderOf(choices, fields),
    ...(picked.mode && !several && { mode: picked.mode }),
    ...(others.length > 0 && { attempts: all.length }),
    ...(models.some((model) => model !== models[0]) || (several && models[0])
      ? { models }
      : models[0] && { model: models[0] }),
    task: prompt,
    policy: {
      preset: (preset || 'read') as JobPreset,
      ...(park && { outside: 'park' }),
    } as NewJob['policy'] & {},
    caps: {
      ...(minutes && { wall_s: Number(minutes) * 60 }),
      ...(silent && { round_s: Number(silent) * 60 }),
      ...(rounds && { rounds: Number(rounds) }),
      ...(tokens && { tokens: Number(tokens) }),
      ...(cost && { cost: Number(cost) }),
      ...(events && { events: Number(events) }),
      ...(output && { output_bytes: Number(output) * 1024 * 1024 }),
    },
    ...(auto && { resume: 'auto' }),
    ...(auditor && { auditor }),
    ...(retention && { retention: retention as JobRetention }),
    ...(here && { worktree: false as never }),
  }
}

/** The parts of the form. */
export type Part = 'task' | 'place' | 'preset' | 'auditor' | 'attempts'
const parts: [Part, string[]][] = [
  ['task', ['task', 'files']],
  ['place', ['agent', 'mode', 'model', 'options', 'workspace', 'worktree']],
  ['preset', ['policy']],
  ['auditor', ['auditor']],
  ['attempts', ['attempts']],
]

/** The part of the form that has a field of the request, as the hub names it: policy.preset. */
export const partOf = (field = ''): Part | undefined =>
  parts.find(([, fields]) => fields.includes(field.split('.', 1)[0]!))?.[0]
