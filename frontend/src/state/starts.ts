import type { NewJob, NewSession } from '../wire/gen'

/** A session or job that was asked for without a connection and waits to be made. */
export interface Start {
  /** The request's id for the hub: sent again it makes no second one. */
  readonly key: string
  readonly request: NewSession | NewJob
  /** The form of a job, to edit it again. */
  readonly form?: Readonly<Record<string, string>>
  /** When the person asked for it, in ms of Date.now. */
  readonly at: number
  /** Why the hub refused it, in words for a person. */
  readonly problem?: string
}

/** The person is asked before it is made: an old prompt must not run unannounced. */
export const staleMs = 10 * 60_000

/** Whether it waits for the person to say it once more. */
export function isStale(start: Start, now: number): boolean {
  return now - start.at > staleMs
}

/** Whether a request is one for a job. */
export const asksForJob = (request: NewSession | NewJob): request is NewJob => 'task' in request

/** Reads the stored requests; invalid ones are left out. */
export function keptStarts(value: unknown): readonly Start[] {
  if (!Array.isArray(value)) return []
  return (value as { readonly [K in keyof Start]?: unknown }[]).filter((start): start is Start => {
    const request = start?.request as
      { readonly [K in keyof (NewSession & NewJob)]?: unknown } | null | undefined
    return (
      typeof start?.key === 'string' &&
      Number.isFinite(start.at) &&
      (typeof request?.agent === 'string' || Array.isArray(request?.agents)) &&
      typeof request.workspace === 'string' &&
      [request.name, request.prompt, request.task, start.problem].every(
        (v) => v === undefined || typeof v === 'string',
      )
    )
  })
}
