import type { SessionInfo } from '../../wire/gen'

/** A session, and below it its forks and the jobs that it delegated, as far as they are listed. */
export interface Branch {
  session: SessionInfo
  below: Branch[]
}

const parentOf = (s: SessionInfo) => s.job?.delegated_by ?? s.forked_from?.session_id

/**
 * The sessions as trees. The order stays: a tree stands where the first of its sessions stood,
 * and so do the branches of each.
 */
export function treesOf(sessions: readonly SessionInfo[]): Branch[] {
  const branches = new Map(
    sessions.map((session) => [session.session_id, { session, below: [] as Branch[] }]),
  )
  const parent = (b: Branch) => {
    const id = parentOf(b.session)
    return id === undefined ? undefined : branches.get(id)
  }
  const roots: Branch[] = []
  const put = new Set<Branch>()
  for (const branch of branches.values()) {
    let at: Branch | undefined = branch
    const seen = new Set<Branch>()
    while (at && !put.has(at)) {
      put.add(at)
      seen.add(at)
      const above: Branch | undefined = parent(at)
      if (above && !seen.has(above)) above.below.push(at)
      else roots.push(at) // of a circle, which no hub makes, the last one is the root
      at = above
    }
  }
  return roots
}
