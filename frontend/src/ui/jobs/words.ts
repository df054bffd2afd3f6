import { own } from '../../state/own'
import type { JobStatus } from '../../wire/gen'

const words: Record<JobStatus, string> = {
  queued: t`Queued`,
  running: t`Running`,
  stopping: t`Stopping`,
  parked: t`Waits for you`,
  completed: t`Completed`,
  failed: t`Failed`,
  cancelled: t`Cancelled`,
}

/** The status of a job, in the list, on the screen of jobs and on a job's card. */
export const jobWord = (status: JobStatus): string => own(words, status) ?? status
