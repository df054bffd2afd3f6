import { hasEnded, type JobSession } from '../../state/jobs'
import type { Branch } from '../../wire/gen'

/** What is to be done with the working copy of a job. */
export interface CopyActs {
  merge: boolean
  discard: boolean
  /** The branch that has all of it already; empty if none has. */
  merged: string
}

/**
 * What is to be done with the working copy of a job that ended, by where its branch stands: it is
 * merged if it has changes that its base has not. Nothing, where the branch is not known: the copy
 * was discarded, or the hub is away.
 */
export function copyActs(info: JobSession, branch: Branch | null): CopyActs {
  const own = info.worktree?.branch
  if (!hasEnded(info.job) || !own || branch?.branch !== own)
    return { merge: false, discard: false, merged: '' }
  const may = branch.acts.includes('merge')
  const changed = branch.ahead + branch.uncommitted > 0
  return {
    merge: may && branch.compared && !!branch.base && changed && !branch.merged,
    discard: may,
    merged: branch.merged ? (branch.base ?? '') : '',
  }
}
