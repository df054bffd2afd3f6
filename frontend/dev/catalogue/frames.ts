// The parts of the states: the golden frames and events of the hub's tests, and
// messages built from scripts of events.
import type { LinkState } from '../../src/state/link'
import type { Message } from '../../src/state/message'
import type { OutboxItem } from '../../src/state/outboxitem'
import type {
  AbideEvent,
  Agent,
  ServerMessage,
  SessionInfo,
  SessionStatus,
  StateMessage,
} from '../../src/wire/gen'
import { loadedFrame, Script, sessionId, stateFrame } from '../../test/support/script'
import { tour } from '../script.mjs'

const golden = import.meta.glob<string>('../../../server/wire/testdata/server/*.json', {
  query: '?raw',
  import: 'default',
  eager: true,
})
const goldenLines = import.meta.glob<string>('../../../session/event/testdata/events.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** One event of every type, from the golden file of the hub's tests. */
export const goldenEvents = Object.values(goldenLines)[0]!
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as AbideEvent)

export const frame = (f: ServerMessage): Message => ({ kind: 'frame', frame: f })

export const goldenFrame = <T extends ServerMessage['type']>(type: T) =>
  JSON.parse(Object.entries(golden).find(([file]) => file.endsWith(`/${type}.json`))![1]) as Extract<
    ServerMessage,
    { type: T }
  >

export const connected = frame(goldenFrame('connected'))
export const link = (over: Partial<LinkState> = {}): Message => ({
  kind: 'link',
  link: { phase: 'open', since: 0, ...over },
})
export const path = `/s/${sessionId}`

/** The golden session has every field; those of the catalogue were neither imported nor forked. */
const { imported: _imported, forks: _forks, forked_from: _from, ...plain } = goldenFrame('session').session

export const session = (status: SessionStatus, over: Partial<SessionInfo> = {}): SessionInfo => ({
  ...plain,
  archived: false,
  imported: false,
  forked_from: undefined,
  forks: undefined,
  status,
  ...over,
})

const said: [SessionStatus, string, string][] = [
  ['needs_you', 'Spread the retries out', 'Allow: Edit wait.go?'],
  ['running', 'Port the importer to the new API', 'Reading importer.go'],
  ['idle', 'Write the release notes for 2.4', '**Done.** The notes are in `CHANGES.md`.'],
  ['idle', 'Why is the index 3 GB?', 'Two thirds of it are tombstones.'],
  ['failed', 'Sort the invoices', '## the model is **overloaded**: try again later'],
  ['ended', 'Drop the old config format', 'The folder is gone, the tests pass.'],
  ['damaged', 'Flaky upload test', ''],
]

/** Sessions of every status. The first is the one the session screens show. */
export const sessions = said.map(([status, name, last_line], i) =>
  session(status, {
    session_id: i === 0 ? sessionId : `20260220-120000-0000000${i}`,
    name,
    last_line,
    pinned: i === 2,
    project_root: ['/src/ferry', '/src/lake'][i % 2],
  }),
)
export const list: Message = { kind: 'listed', sessions }

/** A session is open, and no event of it is loaded. */
export const opened = [link(), connected, list, { kind: 'open', sessionId } as Message]

/** The first `n` events of a turn; by default the whole turn, its question answered. */
export function turn(n = Infinity): AbideEvent[] {
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

/** The events of a completed turn. */
export const whole = turn()

/** A session is open with these events, and with a state frame with these fields. */
export function held(known: AbideEvent[], state: Partial<StateMessage> = {}): Message[] {
  // Moves the last event to three seconds ago, so that the screen shows plausible durations.
  const later = Date.now() - 3_000 - Date.parse(known.at(-1)?.time ?? '')
  const events = known.map((e) => ({ ...e, time: new Date(Date.parse(e.time) + later).toISOString() }))
  // The session's entry in the list has the same max_seq, and no read mark.
  const line = session('needs_you', {
    session_id: sessionId,
    name: sessions[0]!.name,
    max_seq: events.length,
  })
  delete line.read_seq
  const listed: Message = { kind: 'list_changed', session: line }
  return [
    ...opened,
    listed,
    frame(loadedFrame(events)),
    frame(stateFrame({ at_seq: events.length, ...state })),
  ]
}

/** The turn state while the agent works. */
export const prompting = {
  turn: { state: 'prompting', number: 1, prompt_id: 'p1', since: new Date().toISOString() },
} as const

/** The agent part of a state frame; ready by default. */
export const agent = (over: Partial<Agent>): { agent: Agent } => ({
  agent: { name: 'demo', status: 'ready', version: '1.0', ...over },
})

/** A prompt in the outbox; by default it is being sent. */
export const prompt = (over: Partial<OutboxItem>): Message => ({
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
