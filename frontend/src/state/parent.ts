import { record } from './json'

const names = ['parentToolUseId', 'parentToolCallId']

/**
 * The tool call that an agent names as another's parent: the call of the sub-agent that made it. Agents write it in
 * `_meta` of the call, or one level down under their own name.
 */
export function parentOf(raw: unknown): string | undefined {
  const meta = record(record(raw)['_meta'])
  for (const fields of [meta, ...Object.values(meta).map(record)]) {
    for (const name of names) {
      const id = fields[name]
      if (typeof id === 'string' && id !== '') return id
    }
  }
  return undefined
}
