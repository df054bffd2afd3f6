import type { Device } from '../../state/devices'
import { whenSaid } from '../../text/when'

const hourMs = 3_600_000

/** When it was last used, no finer than the hub notes it. */
export function lastUsed(device: Device, now: number): string {
  const made = device.kind === 'device' ? t`paired` : t`made`
  const fresh = (time: string) => now - Date.parse(time) < hourMs
  if (device.last_used) {
    return fresh(device.last_used)
      ? t`active in the last hour`
      : t`last active ${whenSaid(device.last_used, now)}`
  }
  return fresh(device.created_at)
    ? t`${made} less than an hour ago`
    : t`not used since it was ${made} ${whenSaid(device.created_at, now)}`
}

/** Its rights, before the name of its session. */
export function mayDo(device: Pick<Device, 'scope' | 'session_id'>): string {
  const may =
    { owner: t`full access`, collaborator: t`prompts and answers`, viewer: t`read-only` }[device.scope] ??
    device.scope
  return device.session_id ? t`${may} in` : may
}

/** The things that end with its access. */
export function whatEnds(device: Device): string {
  if (device.current) {
    return t`Every page of this hub in this browser is cut off at once. To come in again it has to be paired with a new link from abide pair. Drafts and the sessions it keeps for offline stay in it until its site data is cleared.`
  }
  if (device.kind === 'token') {
    return t`Whoever uses this token is cut off within a second, and is refused from then on. It cannot be brought back: a script would need a new one.`
  }
  return t`Its pages are cut off within a second, and it has to be paired anew to come in again. What it has not sent yet stays in it.`
}
