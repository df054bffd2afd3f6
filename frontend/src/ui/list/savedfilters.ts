import { unfiltered, type Filter } from './filter'

/** A filter of the list that a person gave a name. */
export interface Named {
  name: string
  filter: Filter
}

const key = 'abide.filters'
const most = 50

/** The filters of this device, by their names. */
export function savedFilters(): readonly Named[] {
  let value: unknown = null
  try {
    value = JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    // Forbidden, or other code of the origin broke it: nothing is saved.
  }
  return Array.isArray(value) ? value.flatMap(read).sort((a, b) => a.name.localeCompare(b.name)) : []
}

/** What another version of the app saved may lack fields, or have others. */
function read(value: unknown): Named[] {
  const { name, filter: of } = Object(value) as { name?: unknown; filter?: Record<string, unknown> }
  if (typeof name !== 'string' || typeof of !== 'object' || of === null) return []
  const fields = Object.keys(unfiltered).map((field) => [
    field,
    typeof of[field] === 'string' ? of[field] : '',
  ])
  return [{ name, filter: Object.fromEntries(fields) as Filter }]
}

/** Saves a filter under a name, instead of the one that has it. Returns whether it is kept. */
export function saveFilter(name: string, filter: Filter): boolean {
  const others = savedFilters().filter((n) => n.name !== name)
  return others.length < most && write([...others, { name, filter }])
}

export function removeFilter(name: string): boolean {
  return write(savedFilters().filter((n) => n.name !== name))
}

/** Returns whether two filters show the same. */
export const same = (a: Filter, b: Filter) =>
  (Object.keys(unfiltered) as (keyof Filter)[]).every((field) => a[field] === b[field])

function write(all: readonly Named[]): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(all))
    return true
  } catch {
    return false // full or forbidden
  }
}
