import type { AbideEvent } from '../src/wire/gen'

/** A hub in memory, for the dev server, the preview and the tests. */
export class MockHub {
  /** Whether this browser is paired. If not, requests get 401. */
  paired: boolean
  /** The version and the protocol in its `connected` frame. */
  version: string
  protocol: number
  readonly sessions: ReadonlyMap<string, { readonly events: readonly AbideEvent[] }>
}
