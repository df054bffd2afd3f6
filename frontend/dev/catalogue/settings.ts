// The settings: preferences of this device, paired devices, channels, and the hub.
import type {
  AddedAgent,
  AgentCheck,
  AgentLogin,
  AgentSetup,
  Channel,
  Delivery,
  Device,
  ResumeCounts,
  CleanedStorage,
  StorageReport,
  StoredSession,
  Trash,
  TrashedSession,
} from '../../src/wire/gen'
import { sessionId } from '../../test/support/script'
import { connected, frame, goldenFrame, link, list, opened } from './frames'
import type { State, Step } from './state'

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

const device = (id: string, name: string, over: Partial<Device> = {}): Device => ({
  id,
  name,
  kind: 'device',
  scope: 'owner',
  created_at: ago(900),
  expires_at: '2026-08-20T14:03:07Z',
  ...over,
})
const devices = [
  device('d1', 'Safari on iPhone', { last_used: ago(30) }),
  device('d2', 'Chrome on Linux', { current: true, last_used: ago(0.2) }),
  device('d3', 'The tablet in the kitchen \u202ewhich everybody uses and nobody charges'),
  device('t1', 'nightly', { kind: 'token', last_used: ago(3) }),
  device('t2', '', {
    kind: 'token',
    scope: 'viewer',
    session_id: sessionId,
    created_at: ago(0.5),
    expires_at: undefined,
  }),
]

/** A pairing link that expires two minutes after the call. Its code is made up. */
const pairing = (loopback: boolean, life = 120) => ({
  url: loopback ? 'http://127.0.0.1:22433/#pair=k3v9' : 'https://hub.example/#pair=k3v9',
  expires_in: life,
  loopback,
  qr: Array.from({ length: 25 }, (_, y) =>
    Array.from({ length: 25 }, (_, x) => ((x * y + x + 3 * y) % 3 === 0 ? '1' : '0')).join(''),
  ),
})
const adding = (name: string, link: () => Promise<unknown>) =>
  screen(name, {
    hub: () => ({ devices: async () => devices, ask: <T>() => link() as Promise<T> }),
    does: [{ press: '.add button' }],
  })

const delivered = (over: Partial<Delivery>): Delivery => ({
  id: 'd1',
  target: 'desk',
  kind: 'permission',
  at: ago(2),
  outcome: 'delivered',
  attempts: 1,
  ...over,
})
const channels: Channel[] = [
  {
    name: 'desk',
    type: 'webhook',
    host: 'hooks.example',
    events: ['permission', 'failed'],
    outcomes: [
      delivered({ kind: 'failed', outcome: 'failed', attempts: 5, detail: 'it answered 503' }),
      delivered({ at: ago(30) }),
    ],
  },
  {
    name: 'the-phone-of-whoever-is-on-call-this-week-and-the-next',
    type: 'ntfy',
    host: 'ntfy.example',
    events: ['permission', 'form', 'turn_over', 'failed', 'interrupted', 'job'],
    muted: [sessionId],
    quiet: { from: '22:00', to: '07:00', zone: 'Europe/Berlin' },
    outcomes: [],
  },
]

const deleted = (name: string, bytes: number): TrashedSession => ({
  session_id: `20260221-140307-${bytes.toString(16).padStart(8, '0')}`,
  name,
  agent: 'demo',
  workspace: '/home/dev/src/a/folder/with/a/name/that/does/not/end/at/all',
  event_count: 42,
  created_at: ago(900),
  updated_at: ago(200),
  deleted_at: ago(30),
  removed_at: '2026-03-05T14:03:07Z',
  bytes,
})
const trash: Trash = {
  sessions: [
    deleted('Drop the old config format', 48_000),
    deleted('', 900),
    deleted('The tablet in the kitchen which everybody uses and nobody charges', 91_000_000),
  ],
  days: 7,
  bytes: 91_048_900,
}

const stored = (name: string, bytes: number): StoredSession => ({
  session_id: `20260221-140307-${bytes.toString(16).padStart(8, '0')}`,
  name,
  agent: 'demo',
  workspace: '/home/dev/src/a/folder/with/a/name/that/does/not/end/at/all',
  lifecycle: 'completed',
  updated_at: ago(200),
  bytes,
})
const large = [
  stored('The tablet in the kitchen which everybody uses and nobody charges', 911_000_000),
  stored('', 900),
]
const storage: StorageReport = {
  sessions: 1204,
  active: 3,
  resumable: 2,
  bytes: {
    log: 1_911_000_000,
    blobs: 48_000_000,
    derived: 9_000,
    other: 0,
    states: 0,
    copies: 912_000,
    trash: 91_048_900,
  },
  used: 2_050_969_900,
  average: 1_700_000,
  trash_sessions: 3,
  quota: 4 * 1024 ** 3,
  warn_at: 0.8,
  quota_reached: '2026-07-05T00:00:00Z',
  weeks: [...Array(12).keys()].map((n) => ({
    start: new Date(Date.UTC(2026, 0, 5 + 7 * n)).toISOString(),
    sessions: n,
    bytes: n * n * 1_000_000,
  })),
  largest: large,
  projects: [
    {
      folder: '/home/dev/src/a/folder/with/a/name/that/does/not/end/at/all',
      sessions: 1204,
      bytes: 1_959_000_000,
    },
  ],
  clean: {
    enabled: false,
    every: '168h0m0s',
    older_than: '720h0m0s',
    lifecycles: ['completed', 'failed', 'expired'],
  },
}
const cleaned: CleanedStorage = {
  dry_run: true,
  for_good: false,
  sessions: large,
  count: 2,
  bytes: 911_000_900,
  stayed: { pinned: 2, unmerged: 1, commented: 12 },
}
const full: StorageReport = { ...storage, used: 4.1 * 1024 ** 3, warning: 'near' }

/** The settings of a hub whose sessions take this much. */
const taking = (name: string, report: StorageReport, clean: () => unknown, does: Step[]) =>
  screen(name, {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        (path === '/api/storage'
          ? report
          : path === '/api/storage/clean'
            ? clean()
            : path === '/api/health'
              ? { interruptions }
              : { channels: [] }) as T,
    }),
    does,
  })

const interruptions: ResumeCounts = {
  interrupted: { streaming_llm: 9, executing_tools: 3 },
  resumed: { streaming_llm: { server: 6, local: 2 }, executing_tools: { server: 1 } },
  dismissed: 2,
  superseded: 1,
  succeeded: 7,
  failed: 1,
  median_ms: 252_000,
}

/** The agents of a hub on which nothing was set up yet. */
const untouched = (): unknown => ({
  configured: [{ name: 'demo', command: 'built in, to try abide without a model', built_in: true }],
  known: [],
  file: '~/.config/abide/config.yaml',
})

/** The answers that are no promise: a request without a path, as the test of the words makes, gets them all. */
const settledOf = (answers: (() => unknown)[]) =>
  answers
    .map((answer) => answer())
    .filter((value) => !(value instanceof Promise && (value.catch(() => {}), true)))

const screen = (name: string, over: Partial<State> = {}, agents = untouched): State => ({
  name: `settings${name}`,
  path: '/settings',
  messages: opened,
  ...over,
  hub: () => {
    const hub = over.hub?.() ?? { devices: async () => devices }
    const ask = async <T>(method?: string, path?: string) => {
      if (!method || !path) return [...settledOf([agents]), await hub.ask?.('', '')] as T
      return (await (path === '/api/agents/setup'
        ? agents()
        : (hub.ask?.(method, path) ?? { channels: [] }))) as T
    }
    return { ...hub, ask }
  },
})

const known = (name: string, title: string, program?: string) => ({
  name,
  title,
  command: [name, '--acp'],
  program,
  install: `npm install -g @${name}/a-name-of-a-package-as-long-as-they-sometimes-are-${name}`,
  sign_in: `Sign in once with \`${name}\` and /login, or give it ${name.toUpperCase()}_API_KEY.`,
})
const agentSetup: AgentSetup = {
  configured: [
    {
      name: 'claude',
      title: 'Claude Code',
      command: 'claude-agent-acp',
      sign_in: 'Sign in once with `claude`, or give it ANTHROPIC_API_KEY.',
    },
    {
      name: 'mine',
      command: '~/bin/my-agent --acp --a-flag-with-a-long-name /and/a/path/that/does/not/end',
      missing: '/home/dev/bin/my-agent: no such file or directory',
    },
    { name: 'demo', command: 'built in, to try abide without a model', built_in: true },
  ],
  known: [
    known('gemini', 'Gemini CLI', '/usr/local/bin/gemini'),
    known('codex', 'Codex'),
    known('qwen', 'Qwen Code'),
  ],
  file: '~/.config/abide/config.yaml',
}
const works: AgentCheck = {
  state: 'ready',
  title: 'Claude Agent',
  version: '0.101.0',
  mode: 'auto',
  asks_nothing: true,
  logs_out: true,
}
const login: AgentCheck = {
  state: 'login',
  error: 'The key expired on the first of May.',
  title: 'Claude Agent',
  version: '0.101.0',
  methods: [
    {
      method_id: 'claude',
      name: 'Log in with Claude',
      description: 'In a terminal',
      command: ['claude', '/login'],
      configured: true,
    },
    { method_id: 'other', name: 'Log in with a helper', command: ['npx', 'claude-login'] },
    { method_id: 'key', name: 'API key' },
  ],
}
const fails: AgentCheck = {
  state: 'failed',
  error: 'initialize: no answer: agent is gone',
  stderr:
    'Error: Cannot find module \u202e/usr/lib/node_modules/x\n    at node:internal/modules/cjs/loader:1228\n',
}
const asked = '\x1b[1mVisit\x1b[0m https://example.com/device?code=ABCD-EFGH and enter the code.\r\nCode: '

/** Settings whose hub answers the requests about agents. */
const agents = (
  name: string,
  answers: Record<string, () => unknown>,
  does: State['does'] = [],
  setup: () => unknown = () => agentSetup,
) =>
  screen(
    `, agents${name}`,
    {
      hub: () => ({
        devices: async () => [],
        ask: async <T>(method: string, path: string) =>
          (path
            ? ((await answers[`${method} ${path.split('?')[0]}`]?.()) ?? { channels: [] })
            : settledOf(Object.values(answers))) as T,
      }),
      does,
    },
    setup,
  )
const line = '[data-agent=claude]'
const checked = (check: AgentCheck) => ({ 'POST /api/agents/claude/check': () => check })
const press = { press: `${line} button` }
const logins = (...answers: AgentLogin[]) => ({
  ...checked(login),
  'POST /api/agents/claude/login': () => answers[0],
  'GET /api/agents/claude/login': () => answers[1] ?? new Promise(() => {}),
})
const opensLogin = [press, { press: `${line} .main` }]
const begun: AgentLogin = { method_id: 'claude', text: asked, size: asked.length }
const opensAdd = { press: '[data-agents] > div button' }

/** A device that is null, which no hub sends: the device list throws. */
const broken = [null as unknown as Device]
const failed = () => Promise.reject(new Error('The hub cannot be reached.'))

export const settings: State[] = [
  screen(''),
  agents('', {}),
  agents(' loading', {}, [], () => new Promise(() => {})),
  agents(' failed', {}, [], failed),
  agents(', one is checked', { 'POST /api/agents/claude/check': () => new Promise(() => {}) }, [press]),
  agents(', one works', checked({ ...works, answer: 'Hello from Claude.\nAnd goodbye.' }), [press]),
  agents(', one needs a login', checked(login), [press]),
  agents(', one fails', checked(fails), [press]),
  agents(
    ', a login begins',
    { ...checked(login), 'POST /api/agents/claude/login': () => new Promise(() => {}) },
    opensLogin,
  ),
  agents(', a login asks', logins(begun), opensLogin),
  agents(
    ', a login failed',
    logins(begun, {
      ...begun,
      text: `${asked}12\nwrong code\n`,
      ended: true,
      error: 'it ended with exit code 1',
    }),
    opensLogin,
  ),
  agents(', to be added', {}, [opensAdd]),
  agents(', to be added, none is installed', {}, [opensAdd], () => ({
    ...agentSetup,
    known: agentSetup.known.slice(1),
  })),
  agents(', one is not added', { 'POST /api/agents': (): AddedAgent => ({ name: 'gemini', check: fails }) }, [
    opensAdd,
    { press: '[data-known=gemini] button' },
  ]),
  screen(', not connected', { messages: [list, link({ phase: 'dialling' })] }),
  screen(', connection lost', { messages: [...opened, link({ phase: 'offline' })] }),
  screen(', unknown messages', { messages: [...opened, { kind: 'unknown_frame' }] }),
  screen(', devices loading', { hub: () => ({ devices: () => new Promise(() => {}) }) }),
  screen(', devices failed', { hub: () => ({ devices: failed }) }),
  screen(', no devices', { hub: () => ({ devices: async () => [] }) }),
  screen(', not an owner', {
    messages: [link(), connected, frame({ ...goldenFrame('connected'), scope: 'viewer' }), list],
  }),
  screen(', channels and what became of their messages', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        ({ [path === '/api/channels' ? 'channels' : '']: channels }) as T,
    }),
    does: [{ press: '[data-channel=desk] summary' }],
  }),
  screen(', numbers of the hub', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        (path === '/api/health' ? { interruptions } : { channels: [] }) as T,
    }),
  }),
  screen(', sessions in the trash', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        (path === '/api/trash' ? trash : path === '/api/health' ? { interruptions } : { channels: [] }) as T,
    }),
  }),
  taking(', storage', storage, () => cleaned, [{ press: 'section:has(#storage) summary' }]),
  taking(', storage nearly used up', full, () => cleaned, [{ press: 'section:has(#storage) summary' }]),
  taking(', a clean-up', storage, () => cleaned, [{ press: 'section:has(#storage) button' }]),
  taking(', a clean-up for good', storage, () => ({ ...cleaned, for_good: true }), [
    { press: 'section:has(#storage) button' },
  ]),
  taking(
    ', a clean-up of nothing',
    storage,
    () => ({ ...cleaned, sessions: [], count: 0, bytes: 0, stayed: {} }),
    [{ press: 'section:has(#storage) button' }],
  ),
  taking(', a clean-up failed', storage, failed, [{ press: 'section:has(#storage) button' }]),
  screen(', no numbers of the hub', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        path === '/api/health' ? failed() : ({ channels: [] } as T),
    }),
  }),
  adding(', a device is added', async () => pairing(false)),
  adding(', a device is added by a loopback address', async () => pairing(true)),
  adding(', the link to add a device has expired', async () => pairing(false, -1)),
  adding(', no link to add a device', failed),
  screen(', a device renamed', { does: [{ press: '[data-device=d1] [data-does=rename] button' }] }),
  screen(', a device revoked', { does: [{ press: '[data-device=d1] [data-does=end] button' }] }),
  screen(', a token revoked', { does: [{ press: '[data-device=t1] [data-does=end] button' }] }),
  screen(', signing out', { does: [{ press: '[data-device=d2] [data-does=end] button' }] }),
  screen(', a device not revoked', {
    hub: () => ({ devices: async () => devices, ask: failed }),
    does: [{ press: '[data-device=d1] [data-does=end] button' }, { press: '[data-device=d1] .danger' }],
  }),
  screen(', it throws', { hub: () => ({ devices: async () => broken }) }),
  screen(', it threw and was tried again', {
    hub: () => {
      let asked = 0
      return { devices: async () => (asked++ === 0 ? broken : devices) }
    },
    does: [{ press: '[data-again]' }],
  }),
]
