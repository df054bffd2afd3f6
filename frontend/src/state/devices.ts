/** One browser or token that may come in, as the hub lists it. */
export interface Device {
  id: string
  kind: string
  name: string
  scope: string
  /** The one session it is for; none is all of them. */
  session_id?: string
  created_at: string
  /** To about an hour; none when it was not used an hour or more after it was made. */
  last_used?: string
  expires_at?: string
  /** This browser's own. */
  current?: boolean
}

/** This device first, then browsers, then tokens; in each those used last first. */
export function inOrder(devices: readonly Device[]): Device[] {
  const seen = (d: Device) => Date.parse(d.last_used ?? d.created_at) || 0
  const rank = (d: Device) => (d.current ? 0 : d.kind === 'device' ? 1 : 2)
  return [...devices].sort((a, b) => rank(a) - rank(b) || seen(b) - seen(a))
}
