// Which notices of new devices and tokens this browser has dismissed.
import type { Grant } from '../../wire/gen'

const key = 'abide.grants.dismissed'

/** When the newest grant was made that was dismissed, as the hub writes times; '' for none. */
export function readDismissed(): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

export function writeDismissed(created: string): void {
  try {
    localStorage.setItem(key, created)
  } catch {
    // Storage is full or forbidden: they stay dismissed as long as the page.
  }
}

export function newerThan(grants: readonly Grant[], dismissed: string): Grant[] {
  const since = Date.parse(dismissed) || 0
  return grants.filter((grant) => Date.parse(grant.created_at) > since)
}
