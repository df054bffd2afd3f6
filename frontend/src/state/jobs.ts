import type { AbideEvent, JobLine, JobStatus, SessionInfo } from '../wire/gen'
import type { Feed } from './feed'

/** A session that is a job. */
export type JobSession = SessionInfo & { job: JobLine }

/** The statuses in the order of the screen: those that wait for a person first, those that have ended last. */
export const jobStatuses: readonly JobStatus[] = [
  'parked',
  'running',
  'stopping',
  'queued',
  'completed',
  'failed',
  'cancelled',
]

/** Whether a job is over. */
export const hasEnded = ({ status }: JobLine): boolean => jobStatuses.indexOf(status) > 3

/** The jobs among the sessions: those that have not ended by their status, then the others; the newest first. */
export function jobsOf(list: Iterable<SessionInfo>): JobSession[] {
  const rank = ({ job }: JobSession) => (hasEnded(job) ? 9 : jobStatuses.indexOf(job.status))
  return [...list]
    .filter((s): s is JobSession => s.job !== undefined && !s.archived)
    .sort((a, b) => rank(a) - rank(b) || when(b).localeCompare(when(a)))
}

const when = ({ job, created_at }: JobSession) => job.finished_at ?? created_at

/** How long a job has run or ran; one that is queued, has waited. In ms, by the hub's clock. */
export function elapsed({ job, created_at }: JobSession, now: number): number {
  const end = job.finished_at ? Date.parse(job.finished_at) : now
  return Math.max(0, end - Date.parse(job.started_at ?? created_at))
}

/** How a job ended that a session delegated, as the hub notes it there. */
export interface JobReport {
  job_id: string
  title: string
  status: JobStatus
  reason?: string
  summary?: string
}

/** The report that an event is; undefined for another event. */
export function reportOf(event: AbideEvent): JobReport | undefined {
  if (event.type !== 'note' || event.data.method !== 'abide/job_result' || event.data.from) return
  const said = event.data.raw as Partial<JobReport> | null | undefined
  const whole = [said?.job_id, said?.title, said?.status, said?.reason ?? '', said?.summary ?? '']
  return whole.every((value) => typeof value === 'string') ? (said as JobReport) : undefined
}

/** The jobs that a session delegated and that have not ended, the oldest first. */
export const delegatedBy = (list: Iterable<SessionInfo>, id: string): JobSession[] =>
  jobsOf([...list].filter(({ job }) => job?.delegated_by === id && !hasEnded(job))).sort((a, b) =>
    a.created_at.localeCompare(b.created_at),
  )

/** Whether a session has a job to show: it is one, it has delegated one, or its feed tells how one ended. */
export const showsJobs = (list: Iterable<SessionInfo>, id: string, feed: Feed): boolean =>
  [...list].some(({ session_id, job }) => job && (session_id === id || job.delegated_by === id)) ||
  [...feed.items].some((item) => item.kind === 'event' && reportOf(item.event))

/** The first of the attempts at the task of a job; undefined if it is the only one. */
export const firstOf = ({ session_id, job }: JobSession): string | undefined =>
  job.attempt_of ?? (job.attempts ? session_id : undefined)

/** All attempts at a task, by the first of them, which comes first; the oldest first. */
export const attemptsAt = (list: Iterable<SessionInfo>, first: string): JobSession[] =>
  [...list]
    .filter((s): s is JobSession => s.job !== undefined && firstOf(s as JobSession) === first)
    .sort(
      (a, b) =>
        Number(b.session_id === first) - Number(a.session_id === first) ||
        a.created_at.localeCompare(b.created_at) ||
        a.session_id.localeCompare(b.session_id),
    )
