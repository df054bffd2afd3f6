import type { Start } from './starts'
import type { AbideEvent, EventsLoadedMessage, Seq, ServerMessage, SessionInfo } from '../wire/gen'
import type { LinkState } from './link'
import type { OutboxItem } from './outboxitem'

/** Everything that can change the state of the app. */
export type Message =
  | { kind: 'frame'; frame: ServerMessage }
  | { kind: 'unknown_frame' }
  | { kind: 'skew' }
  | { kind: 'starts'; starts: readonly Start[] }
  | { kind: 'link'; link: LinkState }
  | { kind: 'listed'; sessions: readonly SessionInfo[] }
  | { kind: 'list_failed'; text: string }
  | { kind: 'list_changed'; session: SessionInfo }
  | { kind: 'open'; sessionId: string }
  | { kind: 'leave'; sessionId: string }
  /** Events kept from an earlier visit, a run without a hole. */
  | { kind: 'cached'; sessionId: string; epoch: string; events: readonly AbideEvent[] }
  | { kind: 'close'; sessionId: string }
  /** A person wants to see a seq; null: they do not after all. */
  | { kind: 'seek'; sessionId: string; seq: Seq | null }
  /** A person wants to see the newest events. */
  | { kind: 'live'; sessionId: string }
  /** A page of the window: around target, or the next on either side of it. */
  | { kind: 'window_page'; frame: EventsLoadedMessage; target: Seq | null }
  /** The hub said why it cannot open a session. */
  | { kind: 'shut'; sessionId: string; reason: string }
  | { kind: 'reset_seen'; sessionId: string }
  | { kind: 'outbox'; item: OutboxItem }
  | { kind: 'outbox_done'; id: string }
  /** With a request it is about that alone: the next question, or the next thing the person does, ends it. */
  | { kind: 'problem'; sessionId?: string; request?: string; text: string }
  | { kind: 'problem_seen'; id: number }
