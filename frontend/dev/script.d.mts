/** The turn the mock hub's agent plays: pairs of event type and data. */
export function tour(turn: number): Generator<[string, unknown]>
