// The list of sessions with its search, and the palette, the new session dialog, the keys and the pairing screen.
import type { Intents } from '../../src/state/intents'
import type { Branch, FolderContent, FoundPage, Hit } from '../../src/wire/gen'
import type { Files } from '../../src/state/files'
import { sessionId } from '../../test/support/script'
import { connected, frame, held, link, list, opened, path, sessions, whole } from './frames'
import type { State, Step } from './state'

/** The hub's answer to a search: a page, an error, or null for an answer that never arrives. */
type Answer = FoundPage | { problem: string } | null

const hit = (seq: number, snippet: string, over: Partial<Hit> = {}): Hit => ({
  session_id: sessionId,
  name: 'Spread the retries out',
  seq,
  type: 'agent_message',
  time: '2026-02-21T14:03:07Z',
  snippet,
  ranges: [[snippet.indexOf('retr'), snippet.indexOf('retr') + 4]],
  ...over,
})
const hits = [
  hit(41, 'The retry loop waited longer and longer, in step with every other client.'),
  hit(2, 'Make the retries spread out.', { type: 'user_prompt' }),
  hit(17, '<img src=x onerror=alert(1)> retries \u202efdp.exe', {
    session_id: '20260220-120000-00000001',
    type: 'tool_call',
  }),
]
const found = (over: Partial<FoundPage> = {}): FoundPage => ({
  hits: [],
  searched: 1_000_000,
  sessions: 30,
  sessions_left: 0,
  done: true,
  ...over,
})
const granted = (n: number) =>
  frame({
    type: 'granted',
    grants: [
      { id: 'a1b2c3d4e5f60718', kind: 'device', name: 'Safari on gpj.\u202eexe', scope: 'owner' },
      { id: '9eb6053eeaca4df6', kind: 'token', name: '', scope: 'viewer', session_id: sessionId },
      { id: '6fcb053eeaca1111', kind: 'token', name: 'nightly', scope: 'owner' },
    ]
      .slice(0, n)
      .map((g) => ({ ...g, created_at: '2026-02-21T13:20:00Z' })),
  })
const folders: FolderContent = {
  name: 'src',
  path: '/src',
  repository: false,
  folders: [
    { name: 'ferry', path: '/src/ferry', repository: true, branch: 'main' },
    { name: 'lake', path: '/src/lake', repository: false },
  ],
}
/** A hub that tells of its folders. */
export const withFolders = (): Partial<Intents> => ({
  files: async () => ({ folders: async () => folders }) as unknown as Files,
  ask: async <T>() => ({ path: '/src', shown: '/src', allowed: true }) as T,
})
const standing: Branch = {
  repository: true,
  branch: 'retries-that-spread-out-over-a-whole-minute',
  compared: true,
  base: 'main',
  ahead: 3,
  behind: 12,
  uncommitted: 2,
  conflicts: ['retry.go'],
  acts: [],
}
/** A hub that tells of the branches of its sessions. */
const withBranches = (found: Partial<Branch> = {}): Partial<Intents> => ({
  files: async () =>
    ({
      branch: async (id: string) =>
        id === sessionId
          ? { ...standing, ...found }
          : { ...standing, branch: 'main', ahead: 0, behind: 0, conflicts: [] },
    }) as unknown as Files,
  ask: async <T>() => ({ ...standing, ...found }) as T,
})
const withMerged = () => withBranches({ merged: true, conflicts: [], uncommitted: 0 })
const on = { next_cursor: 'c', sessions_left: 18, done: false }

function searching(name: string, words: string, ...answers: Answer[]): State {
  const hub = () => {
    const left = [...answers]
    return {
      search: async () => {
        const answer = left.shift() ?? null
        if (answer === null) return new Promise<never>(() => {})
        if ('problem' in answer) throw new Error(answer.problem)
        return answer
      },
    }
  }
  return { name, path: '/', hub, does: [{ write: '[data-search]', words }], messages: opened }
}

const rowMenu = { press: '[data-row] .more' }
const item = (n: number) => ({ press: `[popover] [role=menuitem]:nth-of-type(${n})` })
const filters = { press: '.finding button' }
const acting = (name: string, ...does: readonly Step[]): State => ({
  name: `list, ${name}`,
  path: '/',
  messages: opened,
  does,
})

export const lists: State[] = [
  { name: 'list', path: '/', messages: opened },
  {
    name: 'list, unread',
    path: '/',
    messages: [
      link(),
      connected,
      {
        kind: 'listed',
        sessions: sessions.map((s, i) => ({ ...s, max_seq: 90, read_seq: i < 3 ? 12 : 90 })),
      },
    ],
    left: Object.fromEntries(
      sessions.map((s, i) => [s.session_id, { epoch: s.epoch, seq: i < 3 ? 12 : 90, at: 0 }]),
    ),
  },
  {
    name: 'list, long names',
    path: '/',
    messages: [
      link(),
      connected,
      {
        kind: 'listed',
        sessions: sessions.map((s) => ({
          ...s,
          pinned: true,
          name: 'A name nobody would cut short by hand, \u202eas this one\u202c '.repeat(4),
          last_line: 'Averylongwordwithoutanyplacetobreakit'.repeat(6),
        })),
      },
    ],
  },
  {
    name: 'list, some in the archive',
    path: '/',
    messages: [
      link(),
      connected,
      { kind: 'listed', sessions: sessions.map((s, i) => ({ ...s, archived: i > 2 })) },
    ],
  },
  {
    name: 'list, archive',
    path: '/',
    messages: [
      link(),
      connected,
      { kind: 'listed', sessions: sessions.map((s, i) => ({ ...s, archived: i > 2 })) },
    ],
    does: [{ press: '.more' }],
  },
  { name: 'list, branches', path: '/', messages: opened, hub: () => withBranches(), does: [{ wait: 200 }] },
  {
    name: 'details, branch',
    path,
    messages: held(whole),
    hub: () => withBranches(),
    does: [{ press: `[aria-label="${t`Details`}"]` }, { wait: 200 }],
  },
  { name: 'list, branch merged', path: '/', messages: opened, hub: withMerged, does: [{ wait: 200 }] },
  {
    name: 'details, branch merged',
    path,
    messages: held(whole),
    hub: withMerged,
    does: [{ press: `[aria-label="${t`Details`}"]` }, { wait: 200 }],
  },
  { name: 'list, loading', path: '/', messages: [link({ phase: 'dialling' })], does: [{ wait: 500 }] },
  { name: 'list, empty', path: '/', messages: [link(), connected, { kind: 'listed', sessions: [] }] },
  {
    name: 'list, failed',
    path: '/',
    messages: [link(), { kind: 'list_failed', text: 'The hub cannot be reached.' }],
  },
  { name: 'list, offline', path: '/', messages: [link(), connected, list, link({ phase: 'offline' })] },
  acting('menu of a row', rowMenu),
  acting('menu of a row, rename', rowMenu, item(2)),
  acting('menu of a row, delete', rowMenu, item(5)),
  acting('selection', rowMenu, item(4), { press: '[data-row="20260220-120000-00000001"] a' }),
  acting('selection, nothing selected', rowMenu, item(4), { press: '[aria-checked=true]' }),
  acting('selection, delete', rowMenu, item(4), { press: '.bar[role=group] button:nth-of-type(3)' }),
  acting('filter', filters),
  acting(
    'filter, named',
    filters,
    { choose: '[data-filter=project]', value: 'lake' },
    { write: '.filters form input', words: 'Lake, what \u202e is open' },
    { press: '.filters form button' },
  ),
  {
    ...acting('filter, by parent', filters, { choose: '[data-filter=by]', value: 'tree' }),
    messages: [
      link(),
      connected,
      {
        kind: 'listed',
        sessions: sessions.map((s, i) => ({
          ...s,
          ...(i > 0 &&
            i < 6 && { forked_from: { session_id: sessions[i === 2 ? 1 : 0]!.session_id, seq: 9 } }),
        })),
      },
    ],
  },
  acting('filter, by project', filters, { choose: '[data-filter=by]', value: 'project' }),
  acting(
    'filter, nothing fits',
    filters,
    { choose: '[data-filter=project]', value: 'lake' },
    { choose: '[data-filter=status]', value: t`Needs you` },
  ),
  searching('search, found', 'retr', found({ hits })),
  {
    ...searching('search, more filters', 'retr', found({ hits })),
    does: [{ write: '[data-search]', words: 'retr' }, { press: `[aria-label="${t`More filters`}"]` }],
  },
  searching('search, under way', 'retr', found({ hits: hits.slice(0, 1), ...on }), null),
  searching('search, more', 'retr', found({ hits: Array(20).fill(hits[0]) as Hit[], ...on })),
  searching('search, loading', 'retr', null),
  searching('search, nothing', 'zebra', found()),
  searching('search, failed', 'retr', { problem: 'The hub cannot be reached.' }),
  { ...searching('search, offline', 'retr'), messages: [...opened, link({ phase: 'offline' })] },
  { name: 'list, new access', path: '/', messages: [...opened, granted(1)] },
  {
    name: 'list, new access, several',
    path: '/',
    messages: [...opened, granted(3), link({ phase: 'offline' })],
  },
  {
    name: 'list, several interrupted',
    path: '/',
    messages: [
      ...opened,
      {
        kind: 'listed',
        sessions: sessions.map((s) => ({
          ...s,
          status: 'interrupted' as const,
          last_line: t`Interrupted: the hub restarted.`,
        })),
      },
    ],
  },
  {
    name: 'session, imported',
    path,
    messages: [
      ...held(whole),
      {
        kind: 'listed',
        sessions: sessions.map((s) => ({
          ...s,
          imported: true,
          forks: [{ session_id: sessions[1]!.session_id, seq: 12 }],
        })),
      },
    ],
  },
  { name: 'new session', path: '/', overlay: 'new_session', messages: opened },
  {
    name: 'new session, the folder',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: withFolders,
    does: [{ press: '[data-folder]' }],
  },
  {
    name: 'new session, sessions of the agent',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({
      ask: async <T>() =>
        ({
          sessions: [
            {
              agent_session_id: 'a1',
              folder: '/src/app',
              title: 'Fix the flaky test',
              updated_at: '2026-02-21T12:00:00Z',
            },
            {
              agent_session_id: 'a2',
              folder: '/src/app',
              title: 'Look at the logs',
              session_id: '20260221-140307-9f3a11c0',
            },
            {
              agent_session_id: 'a3',
              folder: '/else',
              title: 'Elsewhere',
              refused: 'sessions may not run in /else',
            },
          ],
          next_cursor: 'more',
        }) as T,
    }),
    does: [{ press: '[data-past]' }],
  },
  {
    name: 'new session, the sessions of the agent are asked for',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({ ask: () => new Promise<never>(() => {}) }),
    does: [{ press: '[data-past]' }],
  },
  {
    name: 'new session, the agent has no sessions',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({ ask: async <T>() => ({ sessions: [] }) as T }),
    does: [{ press: '[data-past]' }],
  },
  {
    name: 'new session, the agent does not list its sessions',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({
      ask: () =>
        Promise.reject(
          new Error('the agent demo could not list its sessions: the agent does not offer this'),
        ),
    }),
    does: [{ press: '[data-past]' }],
  },
  {
    name: 'new session, no agents known',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({
      choices: () => Promise.reject(new Error('The hub cannot be reached.')),
    }),
  },
  {
    name: 'new session, refused',
    path: '/',
    overlay: 'new_session',
    messages: opened,
    hub: () => ({
      create: () => Promise.reject(new Error('the folder /src/none does not exist: choose another')),
    }),
    does: [{ press: 'dialog form [type=submit]:enabled' }],
  },
  { name: 'palette', path, overlay: 'palette', messages: held(whole) },
  {
    name: 'palette, nothing',
    path,
    overlay: 'palette',
    messages: held(whole),
    does: [{ write: 'dialog input', words: 'zebra' }],
  },
  { name: 'keys', path, overlay: 'help', messages: held(whole) },
  { name: 'pairing', path: '/', messages: [link({ phase: 'refused', refusal: 'unauthorized' })] },
  { name: 'signed out', path: '/', messages: [list, link({ phase: 'refused', refusal: 'unauthorized' })] },
  {
    name: 'pairing, refused',
    path: '/',
    messages: [link({ phase: 'refused', refusal: 'unauthorized' })],
    hub: () => ({
      pair: () => Promise.reject(new Error('that code is not valid any more; run abide pair for a new one')),
    }),
    does: [{ write: '#code', words: 'old' }, { press: 'form [type=submit]' }],
  },
  { name: 'nothing here', path: '/nowhere', messages: opened },
]
