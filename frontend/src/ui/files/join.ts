import type { Branch, BranchAct, BranchPush } from '../../wire/gen'

/** What JoinPanel does with a session's branch. */
export const acts = ['update', 'merge', 'push', 'pull-request'] as const
export type Act = (typeof acts)[number]
export type Method = 'merge' | 'rebase' | 'squash' | 'ff'

export const methodsOf: Record<Act, readonly Method[]> = {
  update: ['merge', 'rebase'],
  merge: ['merge', 'squash', 'ff'],
  push: [],
  'pull-request': [],
}
export const methodWords: Record<Method, string> = {
  merge: t`Merge commit`,
  rebase: t`Rebase: the commits are made again on the base`,
  squash: t`Squash: one commit of all`,
  ff: t`Fast-forward: only move the base`,
}
/** What an act's button says: at first, without the files that are not committed, and in spite of what was told. */
export const doWords: Record<Act, string> = {
  update: t`Update`,
  merge: t`Merge`,
  push: t`Push`,
  'pull-request': '',
}
export const withoutWords: Record<Act, string> = {
  ...doWords,
  merge: t`Merge without them`,
  push: t`Push without them`,
}
export const sureWords: Record<Act, string> = {
  update: t`Update all the same`,
  merge: t`Merge all the same`,
  push: t`Push all the same`,
  'pull-request': '',
}

/** The acts in words. */
export const actWords = (push: BranchPush | undefined): Record<Act, string> => ({
  update: t`Update from the base`,
  merge: t`Merge into the base`,
  push: push?.pushed ? t`Push to ${push.remote}: it is there already` : t`Push to ${push?.remote ?? ''}`,
  'pull-request': t`New pull request`,
})

/** What was done. */
export const doneWords = (act: Act, made: BranchAct): string =>
  act === 'update'
    ? t`Updated ${made.branch} from ${made.from ?? ''}.`
    : act === 'merge'
      ? t`Merged into ${made.branch}.`
      : t`Pushed ${made.branch} to ${made.remote ?? ''}.`

const notes: Record<Act, string> = {
  update: t`Hooks of the repository do not run.`,
  merge: t`Hooks of the repository do not run.`,
  push: t`As you would push by hand: hooks and credential helpers run, and ssh. Nothing is forced.`,
  'pull-request': t`The page is filled in. Nothing is sent until you do it there.`,
}
/** What a person should know of an act before; program makes the project's pull requests. */
export const noteOf = (act: Act, program?: string, signing?: string): string =>
  act === 'pull-request' && program
    ? t`As you would make it by hand: ${program} runs with your sign-in. It makes the pull request at once.`
    : act === 'update' || act === 'merge'
      ? `${notes[act]} ${signingNote(signing)}`
      : notes[act]

/** Whether a commit that is made here is signed; empty where git is not to sign. */
export const signingNote = (signing?: string): string =>
  signing === 'signed'
    ? t`Your git signs the commit.`
    : signing === 'unsigned'
      ? t`The commit is not signed, though git is to sign here.`
      : ''

/** What may be done with a branch, as far as is known. */
export function canDo(branch: Branch | null): Record<Act, boolean> {
  const may = (act: string) => branch?.acts.includes(act) ?? false
  const based = (branch?.base ?? '') !== ''
  const remote = branch?.push !== undefined
  return {
    update: based && may('update'),
    merge: based && may('merge'),
    push: remote && may('push'),
    'pull-request': remote && may('merge'),
  }
}

/**
 * Whether to tell of files that are not committed, which are no part of a merge or a push: not once
 * that was confirmed, and something else is to be confirmed.
 */
export function leaves(
  act: Act,
  uncommitted: number,
  needs: readonly string[],
  confirmed: readonly string[],
): boolean {
  if (act !== 'merge' && act !== 'push') return false
  if (needs.includes('uncommitted')) return true
  return uncommitted > 0 && !(needs.length > 0 && confirmed.includes('uncommitted'))
}

/** The request of an act. */
export const bodyOf = (act: Act, method: Method, message: string, confirm: readonly string[]) => ({
  ...(act !== 'push' && { method }),
  ...(act === 'merge' && method === 'squash' && message.trim() !== '' && { message }),
  ...(confirm.length > 0 && { confirm }),
})
