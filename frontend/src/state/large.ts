import { record } from './json'

/** A value that was too large for its event: the hub keeps it as a blob, and the event has its beginning. */
export interface Large {
  sha256: string
  /** Unknown where the reference does not say. */
  bytes: number | null
  head: string
}

/** A large value and where in an object it is, as `edits.0.newText`. */
export interface LargePart {
  at: string
  large: Large
}

/** How much of a reference-free object is looked through for large values. */
const deepest = 32
const most = 20

/** Returns the large value that stands here, null where the value itself does. */
export function largeOf(value: unknown): Large | null {
  const { blob, head } = record(value)
  const { sha256, bytes } = record(blob)
  if (typeof sha256 !== 'string') return null
  return {
    sha256,
    bytes: typeof bytes === 'number' ? bytes : null,
    head: typeof head === 'string' ? head : '',
  }
}

/** A text, or the beginning of one that was too large; null for a value that is no text. */
export function textOrHead(value: unknown): string | null {
  return typeof value === 'string' ? value : (largeOf(value)?.head ?? null)
}

/** The large values within one, but for those a screen shows in their place. */
export function largeIn(value: unknown, except: ReadonlySet<unknown>): LargePart[] {
  const parts: LargePart[] = []
  const look = (value: unknown, at: string, depth: number) => {
    if (typeof value !== 'object' || value === null || except.has(value)) return
    if (depth > deepest || parts.length >= most) return
    const large = largeOf(value)
    if (large) return void parts.push({ at, large })
    for (const [name, inner] of Object.entries(value)) look(inner, at ? `${at}.${name}` : name, depth + 1)
  }
  look(value, '', 0)
  return parts
}
