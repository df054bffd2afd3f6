import type { Choices } from '../../state/intents'
import type { Screens } from '../app.svelte'
import type { NewFields } from './newdraft.svelte'

type Agent = Choices['agents'][number]

/** The agent that was chosen, or the first. */
export const agentOf = (choices: Choices | null, fields: NewFields): Agent | undefined =>
  choices?.agents.find((a) => a.name === fields.agent) ?? choices?.agents[0]

/** The folder that was chosen, or the hub's default. */
export const folderOf = (choices: Choices | null, fields: NewFields): string =>
  fields.workspace ?? choices?.default_workspace ?? ''

/** What the agent is known to offer, with what it begins with where nothing is picked. */
export function beginnings(agent: Agent | undefined, fields: NewFields) {
  return (['mode', 'model'] as const)
    .map((field) => {
      const offered = (field === 'mode' ? agent?.modes : agent?.models) ?? []
      const picked = offered.find((o) => o.id === fields[field])?.id ?? ''
      return { field, offered, own: agent?.[field], picked }
    })
    .filter((s) => s.offered.length > 1)
}

/** Of what was picked, as the request has it. */
export const pickedOf = (agent: Agent | undefined, fields: NewFields): Pick<NewFields, 'mode' | 'model'> =>
  Object.fromEntries(
    beginnings(agent, fields)
      .filter((s) => s.picked)
      .map((s) => [s.field, s.picked]),
  )

/** Whether a request failed because the network goes: it did before the connection is known to be lost. */
export const unsent = ({ state }: Screens, error: unknown): boolean =>
  (error as { code?: string }).code === 'unreachable' && (state.link.phase !== 'open' || !navigator.onLine)
