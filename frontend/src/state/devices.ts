import type { Device } from '../wire/gen'

/** This device first, then browsers, then tokens; in each those used last first. */
export function inOrder(devices: readonly Device[]): Device[] {
  const seen = (d: Device) => Date.parse(d.last_used ?? d.created_at) || 0
  const rank = (d: Device) => (d.current ? 0 : d.kind === 'device' ? 1 : 2)
  return [...devices].sort((a, b) => rank(a) - rank(b) || seen(b) - seen(a))
}
