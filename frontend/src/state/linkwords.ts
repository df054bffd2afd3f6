import type { LinkState } from './link'

/** The facts about the connection at one moment. */
export interface Connection {
  link: Pick<LinkState, 'phase' | 'refusal' | 'http'>
  /** How long the connection has been away: under 400 ms, longer, over 5 s. Most wakes are over by the first. */
  waited: 'no' | 'some' | 'long'
  /** The hub answers, but is slow to open the session. */
  opening: boolean
  /** Nothing of the session was shown yet: it says itself that it is being opened. */
  first: boolean
  /** Seconds until the next try; 0: now. */
  seconds: number
  /** How many events of the session are missing. */
  missing: number
}

/** Whether the connection is away and not about to be back. */
export function isLost({ link, waited, opening }: Connection): boolean {
  if (link.phase === 'refused') return true
  if (link.phase === 'offline') return true
  return away(link) && !opening && waited === 'long'
}

/** Says the connection in words; '' while there is nothing to say. */
export function connectionWords(now: Connection): string {
  const { link, waited, opening, first, seconds, missing } = now
  if (link.phase === 'refused') {
    return link.refusal === 'version'
      ? t`The hub has been updated. Reload this page; your drafts are kept.`
      : t`Access denied. Pair again or ask the hub's owner.`
  }
  if (link.phase === 'offline') return t`Offline. Messages will send when you reconnect.`
  if (isLost(now))
    return t`No connection to the hub. ${seconds > 0 ? t`Retrying in ${seconds}\u00a0s.` : t`Retrying…`}`
  if (away(link) && !opening) {
    if (waited !== 'some' || first) return ''
    return seconds > 0 ? t`Reconnecting in ${seconds}\u00a0s.` : t`Reconnecting…`
  }
  if (link.http) return t`A proxy blocks WebSocket: using HTTP.`
  return missing > 200 ? t`Catching up: ${missing} events` : ''
}

/** Whether nothing reaches the hub. */
export function away(link: Pick<LinkState, 'phase'>): boolean {
  return link.phase !== 'open' && link.phase !== 'off'
}
