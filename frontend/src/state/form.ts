import { record } from './json'
import { own } from './own'

/** One value a form asks for. */
export interface Field {
  name: string
  title: string
  description: string
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices'
  choices: readonly { value: string; title: string; description: string }[]
  required: boolean
  /** Whole numbers only. */
  integer: boolean
  initial: FieldValue
}

export type FieldValue = string | number | boolean | readonly string[] | null

/** Reads the JSON schema of a flat object. A property of a kind it does not know is a text. */
export function fieldsOf(schema: unknown): Field[] {
  const object = record(schema)
  const required = Array.isArray(object['required']) ? object['required'] : []
  return Object.entries(record(object['properties'])).map(([name, value]) => {
    const p = record(value)
    const many = p['type'] === 'array'
    const choices = choicesOf(many ? record(p['items']) : p)
    const kind = many
      ? 'choices'
      : choices.length > 0
        ? 'choice'
        : p['type'] === 'boolean'
          ? 'boolean'
          : p['type'] === 'number' || p['type'] === 'integer'
            ? 'number'
            : 'text'
    return {
      name,
      title: text(p['title']) || name,
      description: text(p['description']),
      kind,
      choices,
      required: required.includes(name),
      integer: p['type'] === 'integer',
      initial: initialOf(kind, p['default']),
    }
  })
}

/** The answer's values, without those of empty fields. */
export function contentOf(
  fields: readonly Field[],
  values: Readonly<Record<string, FieldValue>>,
): Record<string, unknown> {
  const given = fields.map(({ name }) => [name, own(values, name)] as const)
  return Object.fromEntries(given.filter(([, v]) => v !== undefined && v !== null && v !== ''))
}

/** Names of required fields that are empty. */
export function missingIn(fields: readonly Field[], values: Readonly<Record<string, FieldValue>>): string[] {
  const content = contentOf(fields, values)
  return fields
    .filter((f) => f.required && f.kind !== 'boolean' && !Object.hasOwn(content, f.name))
    .map((f) => f.name)
}

function initialOf(kind: Field['kind'], value: unknown): FieldValue {
  switch (kind) {
    case 'boolean':
      return value === true
    case 'number':
      return typeof value === 'number' ? value : null
    case 'choices':
      return Array.isArray(value) ? value.filter((v) => typeof v === 'string') : []
    default:
      return text(value)
  }
}

function choicesOf(p: Record<string, unknown>): Field['choices'] {
  const titled = p['oneOf'] ?? p['anyOf']
  if (Array.isArray(titled)) {
    return titled
      .map(record)
      .filter((c) => typeof c['const'] === 'string')
      .map((c) => ({
        value: text(c['const']),
        title: text(c['title']) || text(c['const']),
        description: text(c['description']),
      }))
  }
  if (!Array.isArray(p['enum'])) return []
  const names = Array.isArray(p['enumNames']) ? p['enumNames'] : []
  return p['enum']
    .filter((v) => typeof v === 'string')
    .map((value, i) => ({ value, title: text(names[i]) || value, description: '' }))
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
