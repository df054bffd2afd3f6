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
  choices: readonly { value: string; name: string }[]
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
function choicesIn(value: unknown): { value: string; name: string }[] {
  if (!Array.isArray(value)) return []
  return value.map(record).flatMap((c) => {
    if (Array.isArray(c['options'])) return choicesIn(c['options'])
    const own = text(c['value'])
    return own === '' ? [] : [{ value: own, name: text(c['name']) || own }]
  })
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
