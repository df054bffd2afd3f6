import type { AbideEvent } from '../src/wire/gen'

/** A hub in memory. */
export class MockHub {
  /** Whether this browser may come in. */
  paired: boolean
  /** What it says it is, and the protocol it speaks. */
  version: string
  protocol: number
  readonly sessions: ReadonlyMap<string, { readonly events: readonly AbideEvent[] }>
}
