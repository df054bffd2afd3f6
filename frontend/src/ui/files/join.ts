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
