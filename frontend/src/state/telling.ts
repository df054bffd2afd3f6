/** The kinds of events that a person can be notified of, with their names. */
export const events = {
  permission: t`A permission is asked`,
  form: t`A form is asked`,
  turn_over: t`A turn of over a minute has ended`,
  failed: t`A turn has failed`,
  interrupted: t`A turn was interrupted`,
} as const

export type EventKind = keyof typeof events

export interface Quiet {
  from: string
  to: string
  zone?: string
}

/** The choice of a device or a channel. */
export interface Choice {
  events: EventKind[]
  muted?: string[]
  quiet?: Quiet
}

export interface Outcome {
  kind: string
  at: string
  outcome: string
  attempts: number
  detail?: string
}

export interface Told extends Choice {
  id: string
  outcomes: Outcome[]
}

export interface Channel extends Choice {
  name: string
  type: string
  host: string
  outcomes: Outcome[]
}

/** A delivery in words. */
export function delivery({ kind, outcome, attempts, detail }: Outcome): string {
  const tries = attempts > 1 ? t`, after ${attempts} attempts` : ''
  return `${events[kind as EventKind] ?? kind}: ${outcome}${tries}${detail ? ` (${detail})` : ''}`
}
