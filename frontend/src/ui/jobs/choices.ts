import type { JobPreset, JobRetention } from '../../wire/gen'

/** What the agent of a job may do. */
export const presets: { name: JobPreset; words: string; allows: string }[] = [
  { name: 'read', words: t`Read only`, allows: t`Reads and searches in the folder.` },
  { name: 'edit', words: t`Edit here`, allows: t`Also edits, moves and deletes files there.` },
  {
    name: 'edit_test',
    words: t`Edit and test`,
    allows: t`Also runs the project’s configured test commands.`,
  },
]
/** The limits that end it. */
export const limits = {
  minutes: t`Minutes`,
  silent: t`Silent minutes`,
  rounds: t`Rounds`,
  tokens: t`Tokens`,
  cost: t`Cost`,
  events: t`Events`,
  output: t`Output, in MB`,
}
/** What else of it is on or off. */
export const switches = {
  park: t`Wait for me where something is not allowed. Otherwise it is refused.`,
  auto: t`Continue after an interruption without asking, if nothing has to be confirmed.`,
  here: t`Work in the folder itself, not in a working copy.`,
}
/** How long it is kept after its end. */
export const kept: Record<JobRetention, string> = { '24h': t`a day`, '168h': t`a week`, forever: t`forever` }
