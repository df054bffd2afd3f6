// The screen of jobs, and the form for a new one.
import type { Files } from '../../src/state/files'
import type { Branch, JobInfo, JobLine, Schedule, SessionStatus, Worktree } from '../../src/wire/gen'
import { sessionId } from '../../test/support/script'
import { connected, held, link, opened, path, session, whole } from './frames'
import { withFolders } from './lists'
import type { State } from './state'

/** Minutes before the hub's clock, as the golden frame has it. */
const ago = (minutes: number) => new Date(Date.parse('2026-02-21T14:03:07Z') - minutes * 60_000).toISOString()

const job = (id: number, status: SessionStatus, title: string, line: Partial<JobLine>) =>
  session(status, {
    session_id: `20260221-1300${String(id).padStart(2, '0')}-0000000${id}`,
    name: title,
    agent: 'demo',
    project_root: ['/src/ferry', '/src/lake'][id % 2],
    created_at: ago(40 + id),
    job: { status: 'queued', title, ...line },
  })
const started_at = ago(12)
const jobs = [
  job(1, 'idle', 'Write tests for the importer', {}),
  job(2, 'running', 'Port the importer to the new API, and all who call it', {
    status: 'running',
    started_at,
    rounds: 7,
    last: 'edited 3 files, ran `go test ./...`',
  }),
  job(3, 'needs_you', 'Sort the invoices', {
    status: 'parked',
    reason: 'The agent asks: Run rm -rf build?',
    started_at,
    rounds: 1,
  }),
  job(4, 'running', 'Drop the old config format', { status: 'stopping', started_at, rounds: 2 }),
  job(5, 'ended', 'Why is the index 3 GB?', {
    status: 'completed',
    started_at,
    finished_at: ago(3),
    rounds: 4,
    last: 'read 12 files',
  }),
  job(6, 'failed', 'Averylongwordwithoutanyplacetobreakit'.repeat(4), {
    status: 'failed',
    reason: 'The model is overloaded \u202eand so on: '.repeat(4),
    started_at,
    finished_at: ago(2),
  }),
  job(7, 'ended', 'Rename the package', {
    status: 'cancelled',
    reason: 'wall_s was reached.',
    finished_at: ago(1),
  }),
  job(8, 'interrupted', 'Spread the retries out', {
    status: 'parked',
    reason: 'Interrupted: the hub restarted.',
    started_at,
    rounds: 3,
  }),
]

const screen = (name: string, over: Partial<State> = {}): State => ({
  name: `jobs${name}`,
  path: '/jobs',
  messages: [...opened, { kind: 'listed', sessions: jobs }],
  ...over,
})
const form = (name: string, over: Partial<State> = {}) =>
  screen(`, new job${name}`, {
    overlay: 'new_job',
    hub: () => ({ ask: async <T>() => ({ schedules: [], auditors: ['review', 'size'] }) as T }),
    ...over,
  })
/** The screen with schedules, which the hub has; to change one fails as told. */
const planned = (name: string, schedules: Partial<Schedule>[], over: Partial<State> = {}, fails = '') =>
  screen(`, schedules${name}`, {
    hub: () => ({
      ask: async <T>(method: string) => {
        if (fails && (method !== 'GET' || schedules.length === 0)) throw new Error(fails)
        return {
          schedules: schedules.map((s, i) => ({
            schedule_id: `a${i}`,
            status: 'active',
            requested_by: 'laptop',
            created_at: ago(9000),
            outcomes: [],
            ...s,
            job: { task: 'Sort the invoices', agent: 'demo', workspace: '/src/lake', ...s.job },
          })),
        } as T
      },
    }),
    ...over,
  })
const run = (minutes: number, job: number, over: Partial<Schedule['outcomes'][number]> = {}) => ({
  due: ago(minutes),
  at: ago(minutes),
  outcome: 'started' as const,
  job_id: jobs[job]!.session_id,
  job_status: 'completed' as const,
  ...over,
})
const unmade = { job_id: undefined, job_status: undefined }
const inLong = 'Averylongwordwithoutanyplacetobreakit'.repeat(4)
const plans: Partial<Schedule>[] = [
  {
    job: { task: 'Look through the new issues, and answer what is clear' },
    cron: '0 9 * * 1-5',
    zone: 'Europe/Berlin',
    next_at: ago(-90),
    outcomes: [
      run(8, 4),
      run(30, 5, { ...unmade, outcome: 'refused', error: 'there is no agent \u202eclaude' }),
      run(1500, 0, {
        ...unmade,
        outcome: 'skipped',
        error: 'job 20260221-130002-00000002 of this schedule has not ended',
      }),
      run(3000, 0, { job_id: 'gone', job_status: undefined }),
    ],
  },
  { every: '10s', until: ago(-9000), overlap: 'queue', next_at: ago(0) },
  {
    job: { task: inLong },
    cron: '*/7 3,5 1 * *',
    status: 'paused',
    outcomes: [run(12, 1, { job_status: 'running' })],
  },
  {
    cron: '0 * * * *',
    status: 'paused',
    reason: 'the credential of laptop, which made this schedule, was revoked or expired',
  },
  { every: '24h', status: 'ended', reason: 'no due time is left', outcomes: [run(700, 6)] },
]
const owned = [...opened, { kind: 'listed' as const, sessions: jobs }]
const del = { press: '[data-does=delete] button' }
const more = { press: 'dialog summary' }
const repeats = (value: string) => ({ choose: 'dialog [data-repeat=repeat]', value })
const write = { write: 'dialog textarea', words: 'Write tests for the importer' }
const first = '[data-job] button'

/** A job on the session's screen, as the hub tells it whole. */
const card = (
  name: string,
  line: Partial<JobLine>,
  job: Partial<JobInfo> = {},
  over: Partial<State> = {},
): State => ({
  name: `session, a job ${name}`,
  path,
  messages: [
    ...held(whole),
    {
      kind: 'list_changed',
      session: session('running', {
        session_id: sessionId,
        name: 'Port the importer',
        job: { status: 'queued', title: 'Port the importer', ...line },
      }),
    },
  ],
  hub: () => ({
    ask: async <T>() =>
      ({
        input: {
          policy: { preset: 'edit_test', allow: [] },
          caps: { wall_s: 1800, round_s: 300, rounds: 20, tokens: 50_000, cost: 2, output_bytes: 1 << 20 },
        },
        usage: { rounds: 7, tokens: 12_431, cost: 0.318, events: 312, output_bytes: 91_000 },
        retention: '168h',
        ...job,
      }) as T,
  }),
  ...over,
})
const diff = `diff --git a/import/reader.go b/import/reader.go
index 97e839d..9c03f36 100644
--- a/import/reader.go
+++ b/import/reader.go
@@ -4,5 +4,6 @@ import "io"
 // Reader reads one record after the other, and says where it is when it fails.
 type Reader struct {
-\tin io.Reader
+\tin   io.Reader
+\tline int
 }
 
@@ -40,3 +41,3 @@ func (r *Reader) Next() (Record, error) {
 \tif err != nil {
-\t\treturn Record{}, err
+\t\treturn Record{}, fmt.Errorf("line %d: %w", r.line, err)
 \t}
diff --git a/import/empty.go b/import/empty.go
deleted file mode 100644
index d914525..0000000
diff --git a/import/\u202eog.txt b/import/\u202eog.txt
new file mode 100644
index 0000000..b680253
--- /dev/null
+++ b/import/\u202eog.txt
@@ -0,0 +1 @@
+${'wide '.repeat(60)}
`
const result: Partial<JobInfo> = {
  result_summary:
    'The importer reads by the **new API**. `Next` says the line of a record that it cannot read.',
  verdicts: [
    { auditor: 'size', accepted: true },
    {
      auditor: 'review',
      turn: 1,
      accepted: false,
      reason: 'empty.go was deleted.\nIt has the licence. \u202e',
    },
  ],
  unheld: ['The limit cost may not hold: it is not known whether its agent reports it.'],
  tests: [{ command: 'go test ./...' }, { command: 'go vet ./...', failed: true }],
  failed_commands: ['go vet ./...', `cat ${inLong}`],
  changed_files: ['import/reader.go', 'import/empty.go', 'import/\u202eog.txt', `import/${inLong}`],
  changed: 7,
  diff,
  diff_cut: true,
}
const finished = { started_at, finished_at: ago(2), rounds: 9 }

/** The session of the others, with what it delegated. */
const delegating = (name: string, over: Partial<State> = {}): State => ({
  ...card('', {}),
  name: `session, ${name}`,
  messages: [
    ...held(whole),
    {
      kind: 'listed',
      sessions: [
        session('running', { session_id: sessionId, name: 'Port the importer' }),
        ...[jobs[1]!, jobs[2]!].map((one) => ({ ...one, job: { ...one.job!, delegated_by: sessionId } })),
      ],
    },
  ],
  ...over,
})

const worktree: Worktree = {
  folder: '/copies/port',
  branch: 'abide/port-the-importer-\u202e1',
  base: 'main',
  commit: '4f1c2d',
  of: '/src/ferry',
}
/** The branches of jobs: the first one can be merged, the second is. */
const branches = async () =>
  ({
    branch: async (id: string): Promise<Branch> => ({
      repository: true,
      branch: attempts.find((one) => one.session_id === id)?.worktree.branch ?? worktree.branch!,
      base: 'main',
      compared: true,
      ahead: 1,
      behind: 2,
      merged: id.endsWith('2'),
      uncommitted: 0,
      conflicts: [],
      acts: ['commit', 'update', 'merge'],
    }),
  }) as unknown as Files
/** The card of a job with a working copy of its own. */
const copied = (name: string, over: Partial<State> = {}): State => {
  const { messages, hub, ...rest } = card(name, { status: 'completed', ...finished }, result, over)
  return {
    ...rest,
    messages: messages.map((m) =>
      m.kind === 'list_changed' ? { ...m, session: { ...m.session, worktree } } : m,
    ),
    hub: () => ({ ...hub!(), files: branches }),
  }
}

/** Three attempts at a task, of which one still runs. */
const attempts = (['completed', 'failed', 'running'] as const).map((status, i) => ({
  ...job(i + 1, status === 'running' ? 'running' : 'ended', 'Port the importer to the new API', {
    status,
    started_at,
    rounds: 7,
    attempts: 3,
    ...(i > 0 && { attempt_of: '20260221-130001-00000001' }),
    ...(i < 2 && { finished_at: ago(i + 1) }),
    ...(i === 1 && { reason: 'The model is overloaded \u202eand so on: '.repeat(4) }),
  }),
  worktree: {
    folder: `/copies/port-${i}`,
    branch: `abide/port-the-importer-${i}`,
    base: 'main',
    commit: '4f1c2d',
    of: '/src/ferry',
  },
}))
const compared = (name: string, over: Partial<State> = {}): State => ({
  name: `jobs, attempts${name}`,
  path: '/jobs/20260221-130001-00000001',
  messages: [...opened, { kind: 'listed', sessions: attempts }],
  hub: () => ({
    files: branches,
    ask: async <T>(method: string, of: string) => {
      if (method === 'POST') throw new Error('The hub cannot be reached.')
      const at = attempts.findIndex(({ session_id }) => of.includes(session_id))
      const usage = { rounds: 7, tokens: 12_431 * (at + 1), cost: 0.318, events: 312, output_bytes: 91_000 }
      const input = { model: 'sonnet', policy: { preset: 'edit', allow: [] }, caps: {} }
      return { input, usage, ...(at === 0 && { ...result, finished_at: ago(1) }) } as T
    },
  }),
  ...over,
})
const keep = { press: 'main [data-job] button:last-child' }

export const jobScreens: State[] = [
  compared(''),
  compared(', the others are to be discarded', { does: [keep] }),
  compared(', the others are not discarded', {
    does: [keep, { press: 'main [data-job] .danger' }],
  }),
  compared(', none', { messages: opened }),
  screen(''),
  card('waits', {}),
  card('runs', { status: 'running', started_at, rounds: 7, last: 'edited 3 files, ran `go test ./...`' }),
  card('failed', {
    status: 'failed',
    started_at,
    finished_at: ago(2),
    rounds: 9,
    reason: 'The model is overloaded \u202eand so on: '.repeat(4),
  }),
  card(
    'runs, its details',
    { status: 'running', started_at, rounds: 7 },
    { unheld: result.unheld!, verdicts: result.verdicts!.slice(0, 1) },
    { does: [{ press: '[data-job] summary' }] },
  ),
  card('is completed', { status: 'completed', ...finished }, result),
  card(
    'is completed, its files are not known',
    { status: 'completed', ...finished },
    {
      result_summary: 'Done.',
      no_diff: 'the stored diff cannot be read',
    },
  ),
  copied('is completed, with a working copy'),
  delegating('the jobs that it delegated'),
  delegating('only a job that it delegated', {
    messages: [
      ...held([]),
      { kind: 'listed', sessions: [session('idle', { session_id: sessionId, name: 'Port the importer' })] },
      {
        kind: 'list_changed',
        session: { ...jobs[1]!, job: { ...jobs[1]!.job!, delegated_by: sessionId } },
      },
    ],
  }),
  delegating('a prompt for the background', {
    overlay: 'background',
    does: [{ write: 'dialog textarea', words: 'Write tests for the importer' }],
  }),
  delegating('a prompt for the background is refused', {
    overlay: 'background',
    hub: () => ({
      ask: async (method: string) => {
        if (method === 'POST') throw new Error('a task has at most 32768 bytes: put the rest into a file')
        return undefined as never
      },
    }),
    does: [
      { write: 'dialog textarea', words: 'Write tests for the importer' },
      { press: 'dialog [type=submit]:enabled' },
    ],
  }),
  screen(', none', { messages: opened }),
  screen(', loading', { messages: [link(), connected] }),
  screen(', of one status', { does: [{ choose: 'main [data-filter]', value: 'failed' }] }),
  screen(', one is to be cancelled', { does: [{ press: first }] }),
  screen(', one is not cancelled', {
    hub: () => ({ ask: () => Promise.reject(new Error('The hub cannot be reached.')) }),
    does: [{ press: first }, { press: '[data-job] .danger' }],
  }),
  screen(', not connected', {
    messages: [...opened, { kind: 'listed', sessions: jobs }, link({ phase: 'offline' })],
  }),
  planned('', plans),
  planned(', one is to be deleted', plans, { does: [del] }),
  planned(
    ', one is not deleted',
    plans,
    { does: [del, { press: '[data-schedule] .danger' }] },
    'The hub cannot be reached.',
  ),
  planned(', all that one did', plans, { does: [{ press: '[data-schedule] summary' }] }),
  planned(', none and no jobs', [], { messages: opened }),
  planned(
    ', not read',
    [],
    {},
    'the schedules cannot be read, and none of them runs: schedules.json: line 3',
  ),
  planned(', not connected', plans, { messages: [...owned, link({ phase: 'offline' })] }),
  form(''),
  form(', more', { does: [write, more, { press: 'dialog [role=switch]' }] }),
  form(', every', { does: [write, repeats('every')] }),
  form(', cron is refused', {
    hub: () => ({
      ask: async (method: string) => {
        if (method === 'GET') return { schedules: [] } as never
        const words = 'cron "0 25 * * *" cannot be read: end of range (25) above maximum (23): 25'
        throw Object.assign(new Error(words), { field: 'cron' })
      },
    }),
    does: [
      write,
      repeats('cron'),
      { write: 'dialog input.mono', words: '0 25 * * *' },
      { press: 'dialog [type=submit]:enabled' },
    ],
  }),
  form(', the folder', { hub: withFolders, does: [{ press: 'dialog [data-folder]' }] }),
  form(', no agents known', {
    hub: () => ({ choices: () => Promise.reject(new Error('The hub cannot be reached.')) }),
  }),
  form(', refused', {
    hub: () => ({
      ask: () =>
        Promise.reject(
          new Error('no test command is configured for /src/ferry: set projects.FOLDER.jobs.test_commands'),
        ),
    }),
    does: [write, { press: 'dialog [value=edit_test]' }, { press: 'dialog [type=submit]:enabled' }],
  }),
  form(', not connected', {
    messages: [...opened, link({ phase: 'offline' })],
  }),
]
