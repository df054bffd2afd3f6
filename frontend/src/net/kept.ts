// The device's stored data may be of another version of the app, or broken by other code of the
// origin: it is checked before it is used.

/** The value stored at a key; null where there is nothing, or nothing that can be read. */
export function parsed(storage: Storage, key: string): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether it can be a seq, a count or a time: a whole number from 0 on. */
export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
