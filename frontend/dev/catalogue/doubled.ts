// Duplicate ids and values from agents, people and damaged files, and entries whose rendering throws.
import { loadedFrame, Script, stateFrame } from '../../test/support/script'
import type { AbideEvent } from '../../src/wire/gen'
import { agent, frame, held, opened, path, prompting, turn, whole } from './frames'
import type { State } from './state'

const asked = () => new Script().add('user_prompt', { prompt_id: 'p1', text: 'Go', actor: 'owner' })
const blob = { sha256: 'ab', bytes: 9_000_000, media_type: 'text/plain' }
const choices = [1, 2].map((n) => ({ value: 'a', name: `A ${n}` }))
const modes = [1, 2].map((n) => ({ id: 'a', name: `A ${n}` }))
const terminal = { type: 'terminal', terminalId: 't1' }

const said = asked()
  .add('agent_message', { message_id: 'm', text: { head: 'one ', blob } } as never)
  .add('agent_message', { message_id: 'm', text: { head: 'two', blob } } as never)
  .add('terminal_output', { terminal_id: 't1', data: 'built\n' } as never)
  .add('tool_call', {
    tool_call_id: 'c1',
    title: 'Build',
    kind: 'execute',
    status: 'completed',
    content: [terminal, terminal],
    locations: [{ path: '/src/ferry/a.go' }, { path: 'a.go' }],
  } as never)
  .add('mode', { mode_id: 'a', available: modes } as never)
  .add('config', {
    options: [1, 2].map((n) => ({ id: 'o', name: `O ${n}`, currentValue: 'a', options: choices })),
  } as never)
  .say('m9', 'What comes after is here.').events

const form = asked().add('permission_request', {
  permission_id: 'perm-form',
  title: 'Which?',
  options: [{ option_id: 'accept', name: 'Send', kind: 'allow_once' }],
  form: { type: 'object', properties: { c: { type: 'string', enum: ['a', 'a'] } } },
} as never).events

const file = { name: 'a.txt', media_type: 'text/plain', bytes: 4, sha256: 'f0' }
const queue = [
  { prompt_id: 'q1', text: 'Then the docs', queued_at: new Date().toISOString(), attachments: [file, file] },
]
const observer = { client_id: 'x', actor: 'Phone', activity: 'typing', seq: 1 } as const
/** A session update that throws when it is rendered. */
const failing = {
  get sessionUpdate(): string {
    throw new Error('this is for tests of entries that fail')
  },
}
const broken = [
  ...asked().add('note', { method: 'session/update', raw: failing }).events,
  ...turn(30).slice(2),
]

/** A call whose details throw when rendered, and a call after it. */
const failed = asked()
  .add('tool_call', {
    tool_call_id: 'c1',
    title: 'First',
    status: 'completed',
    raw_output: { failing },
  } as never)
  .say('m', 'Then')
  .add('tool_call', { tool_call_id: 'c2', title: 'Second', status: 'completed' } as never).events

const log = (events: AbideEvent[]) => () => ({
  events: async (_: string, after: number, limit: number) => {
    const page = events.filter((e) => e.seq > after).slice(0, limit)
    return loadedFrame(page, { max_seq: events.length, last_seq: page.at(-1)?.seq ?? after })
  },
})

export const doubles: State[] = [
  { name: 'doubled, in the feed', path, messages: held(said) },
  { name: 'doubled, on a plain page', path: `${path}/plain`, messages: opened, hub: log(said) },
  {
    name: 'doubled, in the details',
    path,
    messages: held(said, { observers: [observer, observer] }),
    does: [{ press: `[aria-label="${t`Details`}"]` }],
  },
  {
    name: 'doubled, in the menu',
    path,
    messages: held(said),
    does: [{ press: `[aria-label="${t`More`}"]` }],
  },
  {
    name: 'doubled, in a question',
    path,
    messages: held(form, { ...prompting, pending_permissions: ['perm-form'] }),
  },
  {
    name: 'doubled, commands',
    path,
    messages: held(whole, {
      commands: { commands: [1, 2].map((n) => ({ name: 'plan', description: `Plan ${n}` })) },
    }),
    does: [{ write: '[data-composer]', words: '/' }],
  },
  {
    name: 'doubled, in the queue',
    path,
    messages: [
      ...held(turn(30), prompting).slice(0, -1),
      frame(stateFrame({ ...prompting, at_seq: 30, queue })),
    ],
    does: [{ press: `section[aria-label="${t`Queue`}"] .top` }],
  },
  {
    name: 'doubled, ways to log in',
    path,
    overlay: 'agent',
    messages: held(
      whole,
      agent({
        status: 'failed',
        message: 'demo needs a login.',
        auth_methods: [1, 2].map((n) => ({ method_id: 'a', name: `Way ${n}` })),
      }),
    ),
  },
  { name: 'an entry that cannot be shown', path, messages: held(broken) },
  {
    name: 'details, of an entry after one whose details fail',
    path,
    messages: held(failed),
    // On a desktop the details are beside the feed and follow the focus.
    does: [
      { focus: 'article[data-seq="2"]' },
      { wait: 200 },
      { focus: 'article[data-seq="4"]' },
      { wait: 200 },
    ],
  },
  {
    name: 'an entry that cannot be shown, on a plain page',
    path: `${path}/plain`,
    messages: opened,
    hub: log(broken),
  },
]
