/** How the connection is, as a person should hear of it. */
export interface LinkState {
  /** off before the first dial; checking while a socket is doubted; refused needs the person. */
  readonly phase: 'off' | 'dialling' | 'open' | 'checking' | 'waiting' | 'offline' | 'refused'
  /** When the phase began, in ms of Date.now. */
  readonly since: number
  /** When the next attempt is made, for waiting. */
  readonly retryAt?: number
  /** Open by requests, as no WebSocket comes through. */
  readonly http?: boolean
  /** Why it was refused. */
  readonly refusal?: 'unauthorized' | 'forbidden' | 'version'
  /** The hub's words for that. */
  readonly why?: string
}
