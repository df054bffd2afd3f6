import { counted } from '../../text/counted'
import type { SessionInfo } from '../../wire/gen'

/** How often a session was resumed; empty if it never was. */
export function resumedWords(info: SessionInfo | undefined): string {
  const n = info?.resume_count ?? 0
  return n ? t`It was resumed ${counted(n, t`time`, t`times`)} before.` : ''
}
