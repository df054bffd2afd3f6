import { vi } from 'vitest'

/** Waits until the check passes: at most 20 s, because a busy machine is slow. The default is one second. */
export function until<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, 20_000)
}
