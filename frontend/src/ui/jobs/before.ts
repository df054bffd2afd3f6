import { untrack } from 'svelte'
import type { NewDraft, NewFields } from '../list/newdraft.svelte'

const key = 'abide.jobs'
/** How many folders are remembered. */
const most = 50
const names = ['preset', 'agent', 'here'] as const
/** What a job was given before, in a folder. */
export type Before = Partial<Record<(typeof names)[number], string>>

/** Remembers on this device what the last job in a folder was given. */
export function rememberJob(folder: string, fields: NewFields): void {
  const given = Object.fromEntries(names.map((name) => [name, fields[name] ?? '']))
  const others = all().filter(([of]) => of !== folder)
  try {
    localStorage.setItem(key, JSON.stringify([...others, [folder, given]].slice(-most)))
  } catch {
    // a full device starts with the defaults
  }
}

/**
 * What to write into the form where another folder is chosen: the choices of the last job there, in fields that
 * the person left as `given`.
 */
export function choicesFor(folder: string, fields: NewFields, given: Before): Before {
  const before: Before = all().find(([of]) => of === folder)?.[1] ?? {}
  const change: Before = {}
  for (const name of names)
    if ((fields[name] ?? '') === (given[name] ?? '') && (before[name] ?? '') !== (fields[name] ?? ''))
      change[name] = before[name] ?? ''
  return change
}

/** What a form has of the last job in its folder. */
export class Begun {
  private given: Before = {}

  /** Writes it into the form. unseen is called if a part is chosen that is not on screen. */
  begin(folder: string, draft: NewDraft, unseen: () => void): void {
    const change = folder ? untrack(() => choicesFor(folder, draft.fields, this.given)) : {}
    if (Object.keys(change).length === 0) return
    this.given = { ...this.given, ...change }
    untrack(() => draft.write(change))
    if (change.here) unseen()
  }
}

function all(): [string, Before][] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    const isOne = (one: unknown): one is [string, Before] =>
      Array.isArray(one) && typeof one[0] === 'string' && typeof one[1] === 'object' && one[1] !== null
    return Array.isArray(kept) ? kept.filter(isOne).map(([of, given]) => [of, stringsOf(given)]) : []
  } catch {
    return []
  }
}

const stringsOf = (given: object): Before =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => typeof value === 'string'))
