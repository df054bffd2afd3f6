// The dialogs over a session: rules, agent, and sending later.
import type { Agent, AuthMethod, Rule, StateMessage } from '../../src/wire/gen'
import { sessionId } from '../../test/support/script'
import { agent, held, path, prompting, turn, whole } from './frames'
import type { State } from './state'

const rule = (id: string, over: Partial<Rule>): Rule => ({
  id,
  scope: 'session',
  effect: 'allow',
  created_by: 'Phone',
  created_at: '2026-02-21T14:03:07Z',
  ...over,
})
const some = [
  rule('r1', { kind: 'execute', subject: 'f1', title: 'go test -race ./...' }),
  rule('r2', { effect: 'reject', kind: 'fetch' }),
  rule('r3', { scope: 'agent', agent: 'demo', kind: 'read' }),
  rule('r4', {
    scope: 'agent',
    agent: 'demo',
    kind: 'execute',
    subject: 'f2',
    title: `find . -name '*.go' -newer go.mod -exec gofmt -l {} + | ${'grep -v _test.go | '.repeat(8)}wc -l \u202e`,
  }),
  rule('r5', { scope: 'session', kind: 'edit', subject: 'f3', title: 'Write notes.md', suspended: true }),
]

const rules = (name: string, hub: State['hub'], does: State['does'] = []): State => ({
  name,
  path,
  overlay: 'rules',
  messages: held(whole),
  hub,
  does,
})

const panel = (name: string, of: Partial<Agent>, state: Partial<StateMessage> = {}): State => ({
  name: `agent, ${name}`,
  path,
  overlay: 'agent',
  messages: held(state.turn ? turn(30) : whole, { ...agent(of), ...state }),
})

const ways: AuthMethod[] = [
  {
    method_id: 'terminal',
    name: 'Log in in a terminal',
    description: 'Opens a page and waits for its code.',
    command: ['demo', 'login', '--profile', "the team's"],
    configured: true,
  },
  { method_id: 'helper', name: 'Log in with a helper', command: ['npx', 'demo-login'] },
  {
    method_id: 'key',
    name: 'API key',
    description: 'Put DEMO_API_KEY into the agent’s env in the config.',
  },
]

const later = [
  { write: '[data-composer]', words: 'Then write the changelog' },
  { press: `[aria-label="${t`Send later`}"]` },
]

export const panels: State[] = [
  rules('rules', () => ({ rules: async () => some })),
  rules('rules, none', () => ({ rules: async () => [] })),
  rules('rules, loading', () => ({ rules: () => new Promise(() => {}) })),
  rules('rules, failed', () => ({ rules: () => Promise.reject(new Error('The hub cannot be reached.')) })),
  rules('rules, it throws', () => ({ rules: async () => [null as unknown as Rule] })),
  rules(
    'rules, not revoked',
    () => ({
      rules: async () => some,
      ask: () => Promise.reject(new Error('The hub cannot be reached.')),
    }),
    [{ press: '[data-rule=r1] button' }],
  ),
  panel('asleep', { status: 'absent' }),
  panel('starting', { status: 'starting' }),
  panel('ready', {}),
  panel('at work', {}, prompting),
  panel('stopping', { status: 'stopping' }),
  panel('failed', { status: 'failed', message: 'demo is not installed: npm i -g demo' }),
  panel('backing off', {
    status: 'failed',
    message: 'The agent ended with exit code 3.\npanic: runtime error: index out of range [5] with length 3',
    restart_at: new Date(Date.now() + 40_000).toISOString(),
  }),
  panel('login needed', {
    status: 'failed',
    message: 'demo needs a login.',
    auth_methods: ways,
  }),
  {
    name: 'agent, login in a terminal of the hub',
    path,
    overlay: 'agent',
    messages: held(whole, agent({ status: 'failed', message: 'demo needs a login.', auth_methods: ways })),
    hub: () => ({
      ask: async <T>(method: string) =>
        method === 'POST'
          ? ({
              method_id: 'terminal',
              text: 'Visit https://example.com/device and enter the code.\nCode: ',
              size: 58,
            } as T)
          : new Promise<never>(() => {}),
    }),
    does: [{ press: 'dialog section .main' }],
  },
  {
    name: 'agent, login refused',
    path,
    overlay: 'agent',
    messages: [
      ...held(whole, agent({ status: 'failed', message: 'demo needs a login.', auth_methods: ways })),
      { kind: 'problem', sessionId, text: 'the login failed: the key is not valid any more' },
    ],
  },
  panel('does not stop', {}, { turn: { state: 'cancelling', force_reset: true } }),
  { name: 'send later', path, messages: held(whole), does: later },
  {
    name: 'send later, in the past',
    path,
    messages: held(whole),
    does: [...later, { write: 'input[type=datetime-local]', words: '2020-01-01T00:00' }],
  },
]
