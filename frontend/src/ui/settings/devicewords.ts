import type { Device } from '../../wire/gen'
import { clock } from '../../text/time'
import { whenSaid } from '../../text/when'

const hourMs = 3_600_000
const minuteMs = 60_000

/** When it was last used, no finer than the hub notes it. */
export function lastUsed(device: Device, now: number): string {
  const made = device.kind === 'device' ? t`paired` : t`created`
  const fresh = (time: string) => now - Date.parse(time) < hourMs
  if (device.last_used) {
    return fresh(device.last_used)
      ? t`active in the last hour`
      : t`last active ${whenSaid(device.last_used, now)}`
  }
  const minutes = Math.floor((now - Date.parse(device.created_at)) / minuteMs)
  if (minutes < 1) return t`${made} just now`
  return fresh(device.created_at)
    ? t`${made} ${minutes} min ago`
    : t`not used since it was ${made} ${whenSaid(device.created_at, now)}`
}

/** When it expires at the latest; '' for never. */
export function until(device: Device, now: number): string {
  if (!device.expires_at) return ''
  const end = new Date(device.expires_at)
  if (end.toDateString() === new Date(now).toDateString())
    return t`expires today at ${clock(device.expires_at)}`
  return t`expires ${end.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' })}`
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
    return t`Every page of this hub in this browser is signed out at once. To sign in again, pair it with a new link from abide pair. Drafts and sessions saved for offline use stay in the browser until its site data is cleared.`
  }
  if (device.kind === 'token') {
    return t`Connections with this token end within a second, and later ones are refused. This cannot be undone: a script needs a new token.`
  }
  return t`Its pages are signed out within a second. To sign in again, it has to be paired again. Its unsent messages stay on it.`
}
