import { stretch } from '../../text/time'
import type { ResumeCounts } from '../../wire/gen'

const total = (counts: Readonly<Record<string, number>>) =>
  Object.values(counts).reduce((sum, n) => sum + n, 0)

/** The numbers of interrupted turns and of their resumes, each with its name. */
export function numbers(counts: ResumeCounts): [name: string, value: string][] {
  const resumed = Object.values(counts.resumed).reduce((sum, ways) => sum + total(ways), 0)
  const rows: [string, string][] = [
    [t`Interrupted turns`, String(total(counts.interrupted))],
    [t`Resumed`, String(resumed)],
  ]
  const ended = counts.succeeded + counts.failed
  if (ended > 0)
    rows.push([
      t`Resumed successfully`,
      t`${counts.succeeded} of ${ended} (${Math.floor((100 * counts.succeeded) / ended)} %)`,
    ])
  if (resumed > 0) rows.push([t`Time until resumed`, t`${stretch(counts.median_ms)} (median)`])
  return rows
}
