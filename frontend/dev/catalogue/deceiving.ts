// Names from agents, people and files, each with invisible or reordering characters.
import { Script } from '../../test/support/script'
import { held, path, prompting } from './frames'
import type { State } from './state'

const odd = (name: string) => `\u202e${name}\u200b`
const now = new Date().toISOString()
const modes = ['ask', 'code'].map((id) => ({ id, name: odd(id) }))

const work = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'Go', actor: 'owner' })
  .add('mode', { mode_id: 'ask', available: modes } as never)
  .add('config', {
    options: [{ id: 'o', name: odd('Model'), currentValue: 'a', options: [{ value: 'a', name: odd('A') }] }],
  } as never)
  .add('plan', {
    entries: [
      { content: odd('Look'), status: 'completed', priority: 'high' },
      { content: odd('Change'), status: 'in_progress', priority: 'high' },
    ],
  } as never)
  .events.map((e) => ({ ...e, time: now }))

const messages = held(work, {
  ...prompting,
  observers: [{ client_id: 'x', actor: odd('Phone'), activity: 'typing', seq: 1 }],
  commands: { commands: [{ name: odd('plan'), description: odd('Plan it') }] },
})

const data = btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>')
const large = { blob: { sha256: 'ab', bytes: 9_000_000, media_type: 'audio/wav' }, head: 'UklG' }
const blocks = [
  { type: 'image', mimeType: 'image/svg+xml', data },
  { type: 'audio', mimeType: 'audio/wav', data: large },
  {
    type: 'resource',
    resource: { uri: `file:///src/${odd('setup.exe')}`, mimeType: 'application/x-msdownload', blob: data },
  },
  { type: 'audio', mimeType: 'audio/ogg', data: '%' },
]
const sent = new Script().add('user_prompt', { prompt_id: 'p1', text: 'Go', actor: 'owner' })
for (const content of blocks) sent.add('agent_message', { message_id: 'm', content } as never)
sent.add('tool_call', {
  tool_call_id: 'c1',
  title: 'Draw',
  status: 'failed',
  content: blocks.map((content) => ({ type: 'content', content })),
} as never)

/** The agent asks permission for one command and then replaces it with another. */
const swapped = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'Look', actor: 'owner' })
  .add('tool_call', {
    tool_call_id: 'c1',
    title: 'ls',
    kind: 'execute',
    raw_input: { command: 'ls' },
  } as never)
  .add('permission_request', {
    permission_id: 'perm-1',
    tool_call_id: 'c1',
    title: 'ls',
    options: [
      { option_id: 'yes', name: 'Allow', kind: 'allow_once' },
      { option_id: 'no', name: 'Reject', kind: 'reject_once' },
    ],
    tool_call: { toolCallId: 'c1', title: 'ls', kind: 'execute', rawInput: { command: 'ls' } },
  } as never)
  .add('tool_call_update', {
    tool_call_id: 'c1',
    title: 'rm -rf /',
    raw_input: { command: 'rm -rf /' },
  } as never)

/** A plan with more steps than fit on a screen, in a session whose first 4,000 events are not loaded. */
const long = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'Port it', actor: 'owner' })
  .add('plan', {
    entries: Array.from({ length: 300 }, (_, i) => ({
      content: `Step ${i + 1}: ${i % 2 ? 'read' : 'port the part of the importer that reads what the old format left in the folder, and its tests'}`,
      status: i < 200 ? 'completed' : i === 200 ? 'in_progress' : 'pending',
      priority: 'medium',
    })),
  } as never)
  .events.map((e) => ({ ...e, seq: e.seq + 4_000 }))

export const deceptions: State[] = [
  {
    name: 'deceiving call, changed since it asked',
    path,
    messages: held(swapped.events, { ...prompting, pending_permissions: ['perm-1'] }),
  },
  { name: 'long plan, of the newest events', path, messages: held(long, { at_seq: 4_002 }) },
  { name: 'deceiving files', path, messages: held(sent.events) },
  {
    name: 'deceiving names, at work',
    path,
    messages,
    does: [{ write: '[data-composer]', words: '/' }],
  },
  {
    name: 'deceiving names, in the details',
    path,
    messages,
    does: [{ press: `[aria-label="${t`Details`}"]` }],
  },
  { name: 'deceiving names, in the menu', path, messages, does: [{ press: `[aria-label="${t`More`}"]` }] },
]
