import type { Delivery } from '../wire/gen'
/** The kinds of events that a person can be notified of, with their names. */
export const events = {
  permission: t`Permission requests`,
  form: t`Forms`,
  turn_over: t`A turn of over a minute has ended`,
  failed: t`A turn has failed`,
  interrupted: t`A turn was interrupted`,
  job: t`A job has ended`,
} as const

export type EventKind = keyof typeof events

/** A delivery in words. */
export function delivery({ kind, outcome, attempts, detail }: Delivery): string {
  const tries = attempts > 1 ? t`, after ${attempts} attempts` : ''
  return `${events[kind as EventKind] ?? kind}: ${outcome}${tries}${detail ? ` (${detail})` : ''}`
}
