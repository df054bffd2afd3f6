import type { WorkingCopy } from '../../wire/gen'

/** The sessions that still work in a copy. */
export const active = (copy: WorkingCopy) => copy.sessions.filter((s) => !s.over)

/** What removing a copy costs, in words; with its branch, if that is discarded. */
export function costs(copy: WorkingCopy, discard = false): string[] {
  const words = active(copy).map((s) => t`The session “${s.name || s.session_id}” is ended.`)
  if (copy.unknown) words.push(t`It is not known what would be lost: ${copy.unknown}.`)
  if (copy.uncommitted > 0) words.push(t`Files that are not committed and are lost: ${copy.uncommitted}.`)
  if (copy.commits > 0 && discard) words.push(t`Commits that are nowhere else and are lost: ${copy.commits}.`)
  else if (copy.commits > 0) words.push(t`Its branch stays. Commits of its own: ${copy.commits}.`)
  return words
}

/** What a request to remove the copy confirms: all that costs tells. */
export const confirmed = (copy: WorkingCopy, discard = false): string[] => [
  ...(active(copy).length > 0 ? ['sessions'] : []),
  ...(copy.unknown ? ['unknown'] : []),
  ...(copy.uncommitted > 0 ? ['uncommitted'] : []),
  ...(copy.commits > 0 && discard ? ['commits'] : []),
]
