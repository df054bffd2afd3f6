import type {
  AbideEvent,
  EventsLoadedMessage,
  EventsMessage,
  EventType,
  Seq,
  StateMessage,
} from '../../src/wire/gen'

export const sessionId = '20260221-140307-9f3a11c0'
export const epoch = '0123456789abcdef'

/** A builder of events: it numbers them from 1, one second apart. */
export class Script {
  readonly events: AbideEvent[] = []
  private turn = 0

  add<T extends EventType>(type: T, data: Extract<AbideEvent, { type: T }>['data']): this {
    if (type === 'user_prompt') this.turn++
    const seq = this.events.length + 1
    const time = new Date(Date.UTC(2026, 1, 21, 14, 3, seq)).toISOString()
    this.events.push({ seq, time, type, turn: this.turn, data } as AbideEvent)
    return this
  }

  say(messageId: string, ...chunks: string[]): this {
    for (const text of chunks) this.add('agent_message', { message_id: messageId, text })
    return this
  }
}

export function eventsFrame(events: AbideEvent[], max?: Seq): EventsMessage {
  const first = events[0]!
  const last = events.at(-1)!
  return {
    type: 'events',
    session_id: sessionId,
    epoch,
    first_seq: first.first_seq ?? first.seq,
    last_seq: last.seq,
    max_seq: max ?? last.seq,
    events,
  }
}

export function loadedFrame(
  events: AbideEvent[],
  over: Partial<EventsLoadedMessage> = {},
): EventsLoadedMessage {
  const last = events.at(-1)?.seq ?? 0
  return {
    type: 'events_loaded',
    session_id: sessionId,
    verdict: 'ok',
    epoch,
    first_seq: events[0]?.first_seq ?? events[0]?.seq ?? last + 1,
    last_seq: last,
    min_seq: 1,
    max_seq: last,
    has_more: false,
    prepend: false,
    events,
    ...over,
  }
}

export function stateFrame(over: Partial<StateMessage> = {}): StateMessage {
  return {
    type: 'state',
    session_id: sessionId,
    at_seq: 0,
    turn: { state: 'idle' },
    pending_permissions: [],
    queue: [],
    agent: { name: 'demo', status: 'ready' },
    observers: [],
    ...over,
  }
}
