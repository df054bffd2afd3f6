/** A hub in memory; `paired` says whether this browser may come in. */
export class MockHub {
  paired: boolean
}
