/** What happens if a person confirms what an act on a branch needs, in words. */
const words = new Map([
  ['turn', t`An agent is working in this folder: its files may be half written.`],
  ['unsigned', t`The commit is not signed, though git is to sign here.`],
  ['uncommitted', t`Files that are not committed stay behind.`],
  ['unpushed', t`The remote does not have the branch as it is here.`],
])

/** A sentence for each thing that is to be confirmed; the hub's own for one that is not known here. */
export const needWords = (needs: readonly string[], error: unknown): string =>
  needs.map((need) => words.get(need) ?? (error as Error).message).join(' ')

/** Why files that are not committed are no part of a merge or a push, above their names. */
export const leftWords = (act: string, ahead: number): string =>
  act === 'push'
    ? t`These files are not committed, so they are not pushed:`
    : ahead === 0
      ? t`Nothing is committed on this branch yet. Commit these files first:`
      : t`These files are not committed, so they stay behind:`
