/** The tour of the mock hub's agent: types of events and their data. */
export function tour(turn: number): Generator<[string, unknown]>
