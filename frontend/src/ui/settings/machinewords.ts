import type { Home, JoinedMachine } from '../../wire/gen'
import { awayWords } from '../../text/machine'

/** Whether a machine is connected, and since when it is not. */
export function reachedWords(of: { state: string; since?: string }, now: number): string {
  if (of.state === 'connected') return t`Connected`
  return of.since ? awayWords(of.since, now) : t`Away`
}

/** What home may do on a machine. */
export function allowWords(allow: string): string {
  switch (allow) {
    case 'read':
      return t`may be read`
    case 'act':
      return t`may be read and prompted`
  }
  return t`full access to sessions`
}

/** A machine's second line. */
export const machineWords = (machine: JoinedMachine): string =>
  [allowWords(machine.allow), machine.sessions === 1 ? t`1 session` : t`${machine.sessions} sessions`].join(
    ' · ',
  )

/** The home of this hub. */
export const homeWords = (home: Home, now: number): string =>
  t`${reachedWords(home, now)} · shows this hub’s sessions as “${home.name}” · ${allowWords(home.allow)}`
