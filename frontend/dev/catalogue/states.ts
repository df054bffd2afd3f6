// Every state of every screen, made of frames: the golden ones of the hub's own
// tests, and scripts of events where a state needs a story. The catalogue page
// shows them; the tests reduce them.
import type { AppState } from '../../src/state/app'
import { initial, reduce } from '../../src/state/app'
import type { LinkState } from '../../src/state/link'
import type { OutboxItem } from '../../src/state/outboxitem'
import type { Message } from '../../src/state/message'
import type { FoundPage, Hit } from '../../src/state/search'
import type { AbideEvent, ServerMessage, SessionInfo, SessionStatus, StateMessage } from '../../src/wire/gen'
import { eventsFrame, loadedFrame, Script, sessionId, stateFrame } from '../../test/support/script'
import { tour } from '../script.mjs'

const golden = import.meta.glob<string>('../../../server/wire/testdata/server/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const goldenEvents = Object.values(
  import.meta.glob<string>('../../../session/event/testdata/events.jsonl', {
    query: '?raw',
    import: 'default',
    eager: true,
  }),
)[0]!

/** What the hub answers to a search; none is an answer that does not come. */
export type Answer = FoundPage | { problem: string } | null

export interface State {
  name: string
  /** The screen's address. */
  path: string
  overlay?: 'palette' | 'help' | 'new_session'
  /** What is in the list's search field, and what the hub finds, call by call. */
  search?: { words: string; answers: readonly Answer[] }
  messages: Message[]
}

const frame = (f: ServerMessage): Message => ({ kind: 'frame', frame: f })
const goldenFrame = (name: string): Message =>
  frame(
    JSON.parse(Object.entries(golden).find(([file]) => file.endsWith(`/${name}.json`))![1]) as ServerMessage,
  )

const connected = goldenFrame('connected')
const link = (over: Partial<LinkState> = {}): Message => ({
  kind: 'link',
  link: { phase: 'open', since: 0, ...over },
})
const open: Message = { kind: 'open', sessionId }
const path = `/s/${sessionId}`

const session = (status: SessionStatus, over: Partial<SessionInfo> = {}): SessionInfo => ({
  ...(goldenFrame('session') as { frame: { session: SessionInfo } }).frame.session,
  archived: false,
  status,
  ...over,
})

const list: Message = {
  kind: 'listed',
  sessions: (['needs_you', 'running', 'idle', 'ended', 'damaged'] as const).map((status, i) =>
    session(status, { session_id: i === 0 ? sessionId : `20260220-120000-0000000${i}`, pinned: i === 2 }),
  ),
}

const base = [link(), connected, list, open]

/** The events of a whole turn, up to the n-th. */
function turn(n = Infinity): AbideEvent[] {
  const script = new Script().add('user_prompt', {
    prompt_id: 'p1',
    text: 'Make the retries spread out.',
    actor: 'owner',
  })
  for (const [type, data] of tour(1) as Iterable<[string, never]>) {
    if (script.events.length >= n) break
    script.add(type === 'ask' ? 'permission_request' : (type as 'note'), data)
    if (type === 'ask' && n === Infinity) {
      const { permission_id } = data as { permission_id: string }
      script.add('permission_outcome', { permission_id, outcome: 'selected', option_id: 'once', by: 'phone' })
    }
  }
  if (n === Infinity)
    script.add('turn_end', { prompt_id: 'p1', stop_reason: 'end_turn', usage: { totalTokens: 12_431 } })
  return script.events
}

function held(events: AbideEvent[], state: Partial<StateMessage> = {}): Message[] {
  return [...base, frame(loadedFrame(events)), frame(stateFrame({ at_seq: events.length, ...state }))]
}

const whole = turn()
const asked = turn(1 + turn(Infinity).findIndex((e) => e.type === 'permission_request'))
const prompting = {
  turn: { state: 'prompting', number: 1, prompt_id: 'p1', since: new Date().toISOString() },
} as const

const form = new Script().add('user_prompt', { prompt_id: 'p1', text: 'Choose' }).add('permission_request', {
  permission_id: 'perm-form',
  title: 'Which colour?',
  options: [
    { option_id: 'accept', name: 'Send', kind: 'allow_once' },
    { option_id: 'decline', name: 'Decline', kind: 'reject_once' },
  ],
  form: {
    type: 'object',
    required: ['colour'],
    properties: {
      colour: {
        type: 'string',
        title: 'Colour',
        oneOf: [
          { const: 'red', title: 'Red' },
          { const: 'blue', title: 'Blue' },
        ],
      },
      why: { type: 'string', title: 'Why', description: 'A word or two' },
      sure: { type: 'boolean', title: 'I am sure' },
    },
  },
})

const hostile = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: '<img src=x onerror=alert(1)>' })
  .say(
    'm',
    '<script>alert(1)</script> [x](javascript:alert(1)) ![i](https://example.com/i.png) \u202eevil\u202c',
  )
  .add('permission_request', {
    permission_id: 'perm-bidi',
    title: 'Run \u202efdp.exe',
    options: [{ option_id: 'no', name: 'Reject', kind: 'reject_once' }],
    tool_call: {
      title: 'x',
      kind: 'execute',
      rawInput: { command: 'rm -rf \u2066/ tmp\u2069', cwd: '/src' },
    },
  })

const prompt = (over: Partial<OutboxItem>): Message => ({
  kind: 'outbox',
  item: {
    id: 'o1',
    sessionId,
    kind: 'prompt',
    text: 'And now the uploader',
    createdAt: Date.now(),
    status: 'sending',
    ...over,
  },
})

const hit = (seq: number, snippet: string, over: Partial<Hit> = {}): Hit => ({
  session_id: sessionId,
  name: 'Spread the retries',
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
  sessions: 30,
  sessions_left: 0,
  done: true,
  ...over,
})
const on = { next_cursor: 'c', sessions_left: 18, done: false }

export const states: State[] = [
  { name: 'list', path: '/', messages: base },
  { name: 'list, loading', path: '/', messages: [link({ phase: 'dialling' })] },
  { name: 'list, empty', path: '/', messages: [link(), connected, { kind: 'listed', sessions: [] }] },
  {
    name: 'list, failed',
    path: '/',
    messages: [link(), { kind: 'list_failed', text: 'The hub cannot be reached.' }],
  },
  {
    name: 'search, found',
    path: '/',
    search: { words: 'retr', answers: [found({ hits })] },
    messages: base,
  },
  {
    name: 'search, under way',
    path: '/',
    search: { words: 'retr', answers: [found({ hits: hits.slice(0, 1), ...on }), null] },
    messages: base,
  },
  {
    name: 'search, more',
    path: '/',
    search: { words: 'retr', answers: [found({ hits: Array(20).fill(hits[0]) as Hit[], ...on })] },
    messages: base,
  },
  { name: 'search, loading', path: '/', search: { words: 'retr', answers: [null] }, messages: base },
  { name: 'search, nothing', path: '/', search: { words: 'zebra', answers: [found()] }, messages: base },
  {
    name: 'search, failed',
    path: '/',
    search: { words: 'retr', answers: [{ problem: 'The hub cannot be reached.' }] },
    messages: base,
  },
  {
    name: 'search, offline',
    path: '/',
    search: { words: 'retr', answers: [] },
    messages: [...base, link({ phase: 'offline' })],
  },
  { name: 'new session', path: '/', overlay: 'new_session', messages: base },
  { name: 'palette', path, overlay: 'palette', messages: held(whole) },
  { name: 'keys', path, overlay: 'help', messages: held(whole) },
  { name: 'settings', path: '/settings', messages: base },
  { name: 'pairing', path: '/', messages: [link({ phase: 'refused', refusal: 'unauthorized' })] },
  { name: 'nothing here', path: '/nowhere', messages: base },
  { name: 'session, loading', path, messages: base },
  { name: 'session, empty', path, messages: held([]) },
  { name: 'session, done', path, messages: held(whole) },
  { name: 'session, answering', path, messages: held(turn(30), prompting) },
  {
    name: 'session, starting',
    path,
    messages: held(turn(1), { turn: { state: 'starting' }, agent: { name: 'demo', status: 'starting' } }),
  },
  {
    name: 'session, stopping',
    path,
    messages: held(turn(30), { turn: { state: 'cancelling', force_reset: true } }),
  },
  { name: 'session, disk full', path, messages: held(turn(30), { turn: { state: 'blocked' } }) },
  {
    name: 'session, agent failed',
    path,
    messages: held(whole, {
      agent: { name: 'demo', status: 'failed', message: 'demo is not installed: npm i -g demo' },
    }),
  },
  {
    name: 'session, every kind of event',
    path,
    messages: held(
      goldenEvents
        .trim()
        .split('\n')
        .map((l) => JSON.parse(l) as AbideEvent),
    ),
  },
  {
    name: 'session, unknown event',
    path,
    messages: held([
      ...whole,
      { ...whole[0]!, seq: whole.length + 1, type: 'hologram', data: { depth: 3 } } as unknown as AbideEvent,
    ]),
  },
  {
    name: 'session, hostile text',
    path,
    messages: held(hostile.events, { ...prompting, pending_permissions: ['perm-bidi'] }),
  },
  {
    name: 'session, replaced',
    path,
    messages: [...held(whole), frame(loadedFrame(turn(12), { verdict: 'reset', reason: 'epoch' }))],
  },
  {
    name: 'session, behind',
    path,
    messages: [...held(turn(5)), frame({ ...eventsFrame(whole.slice(8, 9)), max_seq: 900 })],
  },
  {
    name: 'session, gone',
    path,
    messages: [...base, frame({ type: 'session_gone', session_id: sessionId })],
  },
  { name: 'question', path, messages: held(asked, { ...prompting, pending_permissions: ['perm-edit-1'] }) },
  {
    name: 'question with a form',
    path,
    messages: held(form.events, { ...prompting, pending_permissions: ['perm-form'] }),
  },
  {
    name: 'queue',
    path,
    messages: [
      ...held(turn(30), prompting).slice(0, -1),
      goldenFrame('state'),
      frame(
        stateFrame({
          ...prompting,
          at_seq: 30,
          queue: ['Then the docs', 'Then a release'].map((text, i) => ({
            prompt_id: `q${i}`,
            text,
            queued_at: new Date().toISOString(),
          })),
        }),
      ),
    ],
  },
  { name: 'sending', path, messages: [...held(whole), prompt({})] },
  {
    name: 'not sent',
    path,
    messages: [...held(whole), prompt({ status: 'failed', problem: 'the prompt is too large' })],
  },
  {
    name: 'asks before sending',
    path,
    messages: [...held(whole), prompt({ status: 'queued', stale: true })],
  },
  {
    name: 'others here',
    path,
    messages: held(whole, {
      observers: [
        { client_id: 'x', actor: 'Phone', activity: 'typing', seq: 9 },
        { client_id: 'y', actor: 'Laptop', activity: 'away', seq: 2 },
      ],
    }),
  },
  { name: 'catching up', path, messages: [...held(whole), link({ phase: 'checking' })] },
  {
    name: 'no connection',
    path,
    messages: [...held(whole), link({ phase: 'waiting', since: 0, retryAt: Date.now() + 9_000 })],
  },
  { name: 'offline', path, messages: [...held(whole), link({ phase: 'offline' })] },
  { name: 'forbidden', path, messages: [...held(whole), link({ phase: 'refused', refusal: 'forbidden' })] },
  { name: 'hub too new', path, messages: [...held(whole), link({ phase: 'refused', refusal: 'version' })] },
  { name: 'hub updated', path, messages: [...held(whole), { kind: 'skew' }] },
  {
    name: 'a problem',
    path,
    messages: [...held(whole), { kind: 'problem', text: 'the queue is full: 10 prompts wait' }],
  },
]

export function stateOf({ messages }: State): AppState {
  return messages.reduce(reduce, initial)
}
