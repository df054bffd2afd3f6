/** Reads what agents say in JSON of their own: whatever is not of the kind asked for is nothing. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}
