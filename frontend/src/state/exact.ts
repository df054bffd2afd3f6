import type { AbideEvent, EventType, SessionInfo, StateMessage } from '../wire/gen'
import { largeOf } from './large'
import { own } from './own'

/**
 * The border where a hub's message becomes state: behind it every value has its type. A value of
 * another type is left out, or replaced by the empty value; a part without its id is left out
 * whole.
 */
type Shape = (value: unknown) => unknown

const text: Shape = (value) => (typeof value === 'string' ? value : undefined)
const number: Shape = (value) => (Number.isFinite(value) ? value : undefined)
const flag: Shape = (value) => (typeof value === 'boolean' ? value : undefined)
const time: Shape = (value) => (typeof value === 'string' && Date.parse(value) > 0 ? value : undefined)
/** Words for a person: too many of them for the log are their beginning. */
const words: Shape = (value) => text(value) ?? largeOf(value)?.head
/** A text that keeps its reference where it was too large. */
const held: Shape = (value) => {
  const large = largeOf(value)
  if (!large) return text(value)
  const { sha256, bytes, head } = large
  return bytes === null
    ? { blob: { sha256, bytes: 0, media_type: '' }, head }
    : { ...(value as object), head }
}

const or =
  (shape: Shape, nothing: unknown): Shape =>
  (value) =>
    shape(value) ?? nothing

const list =
  (shape: Shape): Shape =>
  (value) => {
    if (!Array.isArray(value)) return undefined
    const exact = value.map(shape)
    if (exact.every((entry, i) => entry === value[i])) return value as unknown
    return exact.filter((entry) => entry !== undefined)
  }

/** An object by its parts, those it cannot be without in `needs`; parts not named here are left as they are. */
function object(parts: Record<string, Shape>, ...needs: string[]): Shape {
  const names = Object.keys(parts)
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const was = value as Record<string, unknown>
    let is = was
    for (const name of names) {
      const exact = parts[name]!(was[name])
      if (exact === was[name]) continue
      if (is === was) is = { ...was }
      if (exact === undefined) delete is[name]
      else is[name] = exact
    }
    return needs.every((name) => is[name] !== undefined) ? is : undefined
  }
}

const attachments = list(
  object({ name: or(words, ''), media_type: or(text, ''), bytes: or(number, 0), sha256: text }, 'sha256'),
)
const said = object({ message_id: or(text, ''), text: held }, 'message_id')
const file = object({ path: words, bytes: or(number, 0), lines: number }, 'path')
const exit = object({ code: number, signal: text })
const tool = object(
  {
    tool_call_id: text,
    title: words,
    kind: text,
    status: text,
    content_cut: number,
    content_added: words,
    output_grown: object({ member: text, cut: number, added: words }, 'added'),
    locations: list(object({ path: words, line: number }, 'path')),
    synthetic: flag,
  },
  'tool_call_id',
)
const mode = object(
  { mode_id: text, modes: list(object({ id: text, name: words, description: words }, 'id', 'name')) },
  'mode_id',
)
const commands = object({
  commands: or(list(object({ name: words, description: words, hint: words }, 'name')), []),
})
const usage = object(
  { used: number, size: number, cost: object({ amount: number, currency: words }, 'amount', 'currency') },
  'used',
  'size',
)

const data: Partial<Record<EventType, Shape>> = {
  session_start: object({ agent: or(words, ''), workspace: or(words, '') }),
  user_prompt: object(
    { prompt_id: text, text: or(held, ''), attachments, actor: words, queued_at: time },
    'prompt_id',
  ),
  turn_end: object({
    prompt_id: or(text, ''),
    stop_reason: or(text, 'unknown'),
    by: words,
    error: object({ code: or(text, ''), message: or(words, '') }),
  }),
  turn_interrupted: object({
    interruption_id: text,
    prompt_id: or(text, ''),
    reason: or(text, ''),
    phase: or(text, ''),
  }),
  interruption_settled: object({ interruption_id: text, outcome: or(text, ''), by: or(words, '') }),
  session_resumable: object({ resumable: or(flag, false), by: or(words, '') }),
  session_paused: object({ by: or(words, '') }),
  session_resumed: object({ by: or(words, ''), way: text }),
  agent_message: said,
  agent_thought: said,
  tool_call: tool,
  tool_call_update: tool,
  plan: object({
    entries: or(
      list(object({ content: words, priority: or(text, 'medium'), status: or(text, 'pending') }, 'content')),
      [],
    ),
  }),
  permission_request: object(
    {
      permission_id: text,
      tool_call_id: text,
      title: or(words, ''),
      options: or(
        list(object({ option_id: text, name: words, kind: or(text, '') }, 'option_id', 'name')),
        [],
      ),
      url: text,
    },
    'permission_id',
  ),
  permission_outcome: object(
    {
      permission_id: text,
      outcome: or(text, 'cancelled'),
      option_id: text,
      by: or(words, ''),
      rule: text,
      reason: words,
    },
    'permission_id',
  ),
  file_read: file,
  file_write: file,
  mode,
  commands,
  usage,
  title: object({ title: words }, 'title'),
  agent_started: object({
    agent: or(words, ''),
    name: words,
    version: words,
    resumed: text,
    context_lost: flag,
  }),
  agent_exit: object({ code: number, signal: text, reason: or(words, ''), stderr_tail: words }),
  agent_stalled: object({ silent_ms: or(number, 0) }),
  terminal_output: object({ terminal_id: text, tool_call_id: text, data: or(held, ''), exit }, 'terminal_id'),
  error: object({ code: or(text, ''), message: or(words, ''), detail: words }),
  note: object({ method: or(words, ''), text: held }),
  session_end: object({ reason: or(words, ''), by: words }),
  epoch: object({ epoch: or(text, ''), reason: or(words, '') }),
  log_truncated: object({ from: number, to: number }, 'from', 'to'),
  corrupt: object({ reason: or(words, '') }),
}

/** Returns the data of an event with its types; undefined if it is not of its event's kind. */
export function exactData(event: AbideEvent): unknown {
  const shape = own(data, event.type)
  return shape ? shape(event.data) : event.data
}

/** Returns a time as a screen can show it: the beginning of all time where it is none. */
export function exactTime(value: unknown): string {
  return (time(value) as string | undefined) ?? '1970-01-01T00:00:00Z'
}

const state = object(
  {
    at_seq: number,
    turn: or(object({ state: text, number, prompt_id: text, since: time, force_reset: flag }, 'state'), {
      state: 'idle',
    }),
    pending_permissions: or(list(text), []),
    queue: or(
      list(
        object(
          {
            prompt_id: text,
            text: or(words, ''),
            title: words,
            attachments,
            actor: words,
            queued_at: or(time, '1970-01-01T00:00:00Z'),
            scheduled_at: time,
          },
          'prompt_id',
        ),
      ),
      [],
    ),
    mode,
    config: object({}),
    commands,
    usage,
    suggestions: list(text),
    agent: or(
      object({
        name: or(words, ''),
        status: or(text, 'absent'),
        version: words,
        message: words,
        restart_at: time,
        auth_methods: list(
          object(
            { method_id: text, name: words, description: words, command: list(words) },
            'method_id',
            'name',
          ),
        ),
        prompt_capabilities: object({}),
      }),
      { name: '', status: 'absent' },
    ),
    observers: or(
      list(object({ client_id: text, actor: or(words, ''), activity: or(text, 'away') }, 'client_id')),
      [],
    ),
  },
  'at_seq',
)

/** Returns the state of a session with its types; undefined where it does not say how far it is. */
export function exactState(frame: StateMessage): StateMessage | undefined {
  return state(frame) as StateMessage | undefined
}

const info = object(
  {
    session_id: text,
    name: or(words, ''),
    agent: or(words, ''),
    workspace: or(words, ''),
    project_root: words,
    created_at: or(time, '1970-01-01T00:00:00Z'),
    updated_at: or(time, '1970-01-01T00:00:00Z'),
    status: or(text, 'idle'),
    event_count: or(number, 0),
    min_seq: or(number, 1),
    max_seq: or(number, 0),
    last_line: words,
    read_seq: number,
  },
  'session_id',
)

/** Returns an entry of the list with its types; undefined where it names no session. */
export function exactInfo(value: unknown): SessionInfo | undefined {
  return info(value) as SessionInfo | undefined
}
