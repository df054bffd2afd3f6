// An agent whose every name is a property of Object.prototype.
import { Script } from '../../test/support/script'
import { held, path, prompting } from './frames'
import type { State } from './state'

export const foreign = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']

/** A session in which every name the agent can choose is `name`, with a question waiting. */
export function named(name: string): State {
  const script = new Script()
  const add = (type: string, data: object) => script.add(type as never, data as never)
  const options = ['1', '2'].map((option_id) => ({ option_id, name, kind: name }))
  const block = { type: name, mimeType: name, text: name }
  const call = {
    tool_call_id: name,
    title: name,
    kind: name,
    status: name,
    locations: [{ path: name }],
    content: [{ type: name }, { type: 'content', content: block }, { type: 'terminal', terminalId: name }],
    raw_input: { command: name },
    raw_output: { [name]: name },
  }
  add('user_prompt', { prompt_id: name, text: name, actor: name })
  add('agent_started', { agent: name, name, version: name })
  add('mode', { mode_id: name, modes: [{ id: name, name }] })
  add('config', {
    options: [{ id: name, name, type: name, currentValue: name, options: [{ value: name, name }] }],
  })
  add('commands', { commands: [{ name, description: name }] })
  add('usage', { used: 1, size: 2, cost: { amount: 1, currency: name } })
  add('plan', { entries: [{ content: name, priority: name, status: name }] })
  add('agent_message', { message_id: name, text: `${name}\n\n\`\`\`${name}\nx = 1\n\`\`\`\n\n[a][${name}]` })
  add('agent_message', { message_id: name, content: block })
  add('tool_call', call)
  add('tool_call', { ...call, tool_call_id: `${name}-read`, kind: 'read', content: [] })
  add('terminal_output', { terminal_id: name, tool_call_id: name, data: name, exit: { signal: name } })
  add('note', { method: name, raw: { sessionUpdate: name } })
  add('error', { code: name, message: name })
  add('agent_exit', { reason: name, signal: name })
  add('permission_request', { permission_id: 'settled', title: name, options, tool_call: {} })
  add('permission_outcome', { permission_id: 'settled', outcome: 'cancelled', by: name, reason: name })
  add('permission_request', { permission_id: 'chosen', title: name, options, tool_call: {} })
  add('permission_outcome', { permission_id: 'chosen', outcome: name, option_id: '1', by: name })
  add('turn_end', { prompt_id: name, stop_reason: name })
  add(name, { [name]: name })
  add('user_prompt', { prompt_id: 'next', text: name, actor: name })
  add('permission_request', {
    permission_id: 'perm-strange',
    tool_call_id: name,
    title: name,
    options,
    tool_call: { toolCallId: name, title: name, kind: name, rawInput: { command: name } },
  })
  return {
    name: `names of every object, ${name}`,
    path,
    messages: held(script.events, {
      ...prompting,
      pending_permissions: ['perm-strange'],
      observers: [{ client_id: 'x', actor: name, activity: name as 'typing', seq: 1 }],
    }),
  }
}

export const strange: State[] = [
  ...foreign.map(named),
  {
    ...named('constructor'),
    name: 'names of every object, in the details',
    does: [{ press: `[aria-label="${t`Details`}"]` }],
  },
]
