import { expect, test } from 'vitest'
import { attemptsAt, elapsed, firstOf, jobsOf, showsJobs } from '../src/state/jobs'
import { copyActs } from '../src/ui/jobs/copy'
import type { Branch, JobLine, SessionInfo } from '../src/wire/gen'
import { after, emptyFeed } from '../src/state/feed'
import { Script } from './support/script'

const at = (minute: number) => `2026-02-21T14:${String(minute).padStart(2, '0')}:00Z`
const job = (session_id: string, minute: number, line: Partial<JobLine>, over: Partial<SessionInfo> = {}) =>
  ({
    session_id,
    created_at: at(minute),
    archived: false,
    job: { status: 'queued', title: session_id, ...line },
    ...over,
  }) as SessionInfo & { job: JobLine }

test('jobs that have not ended come first by their status, then those that ended last', () => {
  const jobs = jobsOf([
    job('failed', 1, { status: 'failed', finished_at: at(20) }),
    job('completed', 2, { status: 'completed', finished_at: at(10) }),
    job('cancelled', 3, { status: 'cancelled', finished_at: at(30) }),
    job('queued', 4, {}),
    job('queued later', 5, {}),
    job('running', 6, { status: 'running' }),
    job('parked', 7, { status: 'parked' }),
    job('archived', 8, { status: 'parked' }, { archived: true }),
    { session_id: 'a session', archived: false } as SessionInfo,
  ])
  expect(jobs.map((j) => j.session_id)).toEqual([
    'parked',
    'running',
    'queued later',
    'queued',
    'cancelled',
    'failed',
    'completed',
  ])
})

test('a job runs from its start to its end; a queued one waits since it was made', () => {
  const now = Date.parse(at(30))
  expect(elapsed(job('queued', 5, {}), now)).toBe(25 * 60_000)
  expect(elapsed(job('running', 5, { status: 'running', started_at: at(10) }), now)).toBe(20 * 60_000)
  const ended = { status: 'completed', started_at: at(10), finished_at: at(12) } as const
  expect(elapsed(job('completed', 5, ended), now)).toBe(2 * 60_000)
  expect(elapsed(job('ahead', 5, { status: 'running', started_at: at(40) }), now)).toBe(0)
})

test('the attempts at a task are found by the first of them, the oldest first', () => {
  const first = job('first', 1, { attempts: 3 })
  const all = [job('third', 1, { attempt_of: 'first' }), job('alone', 2, {}), first]
  all.push(job('second', 0, { attempts: 3, attempt_of: 'first' }), job('other', 4, { attempts: 2 }))
  expect(all.map(firstOf)).toEqual(['first', undefined, 'first', 'first', 'other'])
  expect(attemptsAt(all, 'first').map((j) => j.session_id)).toEqual(['first', 'second', 'third'])
})

test('a job that ended is merged once, if its copy is there and has changes', () => {
  const worktree = { folder: '/copies/a', branch: 'abide/a', base: 'main', commit: '4f1c2d', of: '/src' }
  const ended = job('ended', 1, { status: 'completed' }, { worktree })
  const branch = (over: Partial<Branch>): Branch => ({
    repository: true,
    branch: 'abide/a',
    base: 'main',
    compared: true,
    ahead: 0,
    behind: 0,
    uncommitted: 0,
    conflicts: [],
    acts: ['commit', 'update', 'merge'],
    ...over,
  })
  const keeps = { merge: false, discard: true, merged: '' }
  const nothing = { merge: false, discard: false, merged: '' }
  const merges = { merge: true, discard: true, merged: '' }
  expect(copyActs(ended, branch({ ahead: 1 }))).toEqual(merges)
  expect(copyActs(ended, branch({ uncommitted: 1, behind: 2 }))).toEqual(merges)
  expect(copyActs(ended, branch({ ahead: 1, behind: 1, conflicts: ['a.go'] })), 'says so').toEqual(merges)
  expect(copyActs(ended, branch({ behind: 3 })), 'it changed nothing').toEqual(keeps)
  expect(copyActs(ended, branch({ ahead: 1, behind: 1, merged: true }))).toEqual({ ...keeps, merged: 'main' })
  expect(copyActs(ended, branch({ uncommitted: 1, merged: true }))).toEqual({ ...keeps, merged: 'main' })
  expect(copyActs(ended, branch({ ahead: 1, compared: false })), 'unknown').toEqual(keeps)
  expect(copyActs(ended, branch({ ahead: 1, acts: ['commit'] })), 'not for this one').toEqual(nothing)
  expect(copyActs(ended, branch({ ahead: 1, branch: 'main' })), 'it is elsewhere').toEqual(nothing)
  expect(copyActs(ended, null), 'its copy was discarded').toEqual(nothing)
  const { worktree: _, ...here } = ended
  expect(copyActs(here, branch({ ahead: 1 })), 'it has no copy').toEqual(nothing)
  for (const status of ['queued', 'running', 'stopping', 'parked'] as const)
    expect(copyActs(job('on', 1, { status }, { worktree }), branch({ ahead: 1 })), status).toEqual(nothing)
})

test('a session shows jobs while it is one, has delegated one, or was told how one ended', () => {
  const empty = emptyFeed(0)
  const delegated = job('one', 1, { status: 'completed', delegated_by: 'mine' })
  expect(showsJobs([delegated], 'mine', empty)).toBe(true)
  expect(showsJobs([delegated], 'one', empty)).toBe(true)
  expect(showsJobs([delegated], 'another', empty)).toBe(false)
  const told = new Script().add('note', {
    method: 'abide/job_result',
    text: 'Completed.',
    raw: { job_id: 'gone', title: 'Sort', status: 'completed' },
  } as never)
  expect(showsJobs([], 'mine', after(empty, told.events))).toBe(true)
  const noted = new Script().add('note', { method: 'abide/other', text: 'Hm.', raw: {} } as never)
  expect(showsJobs([], 'mine', after(empty, noted.events))).toBe(false)
})
