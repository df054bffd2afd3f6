import type { ConfigData } from '../wire/gen'
import { record } from './json'

/** One option of the agent that a person can set. */
export interface AgentOption {
  id: string
  name: string
  description: string
  category: string
  kind: 'select' | 'boolean'
  value: string | boolean
  choices: readonly OptionChoice[]
}

export interface OptionChoice {
  value: string
  name: string
  description?: string
  /** The name of the group that the agent put it into. */
  group?: string
}

/** Reads the agent's options from its own JSON; those of kinds it does not know are left out. */
export function optionsOf(config: ConfigData | undefined): AgentOption[] {
  const all = Array.isArray(config?.options) ? config.options : []
  return all.map(record).flatMap((o): AgentOption[] => {
    const head = {
      id: text(o['id']),
      name: text(o['name']) || text(o['id']),
      description: text(o['description']),
      category: text(o['category']) || (o['id'] === 'mode' ? 'mode' : ''),
    }
    const value = o['currentValue']
    if (head.id === '') return []
    if (typeof value === 'boolean') return [{ ...head, kind: 'boolean', value, choices: [] }]
    const choices = choicesIn(o['options'])
    return typeof value === 'string' && choices.length > 0
      ? [{ ...head, kind: 'select', value, choices }]
      : []
  })
}

/** Choices come flat or in groups. */
function choicesIn(value: unknown, group?: string): OptionChoice[] {
  if (!Array.isArray(value)) return []
  return value.map(record).flatMap((c) => {
    if (Array.isArray(c['options'])) return choicesIn(c['options'], text(c['name']) || text(c['group']))
    const own = text(c['value'])
    const description = text(c['description'])
    return own === ''
      ? []
      : [
          {
            value: own,
            name: text(c['name']) || own,
            ...(description && { description }),
            ...(group && { group }),
          },
        ]
  })
}

/** The choices by their groups, in the agent's order; those without one have no name. */
export function grouped(
  choices: readonly OptionChoice[],
): readonly { name: string; choices: readonly OptionChoice[] }[] {
  const groups: { name: string; choices: OptionChoice[] }[] = []
  for (const choice of choices) {
    const name = choice.group ?? ''
    if (groups.at(-1)?.name !== name) groups.push({ name, choices: [] })
    groups.at(-1)!.choices.push(choice)
  }
  return groups
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
