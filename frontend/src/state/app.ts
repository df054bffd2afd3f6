import type { ConnectedMessage, Grant, ServerMessage, SessionInfo, SessionMessage } from '../wire/gen'
import { exactInfo } from './exact'
import type { LinkState } from './link'
import type { Message } from './message'
import type { OutboxItem } from './outboxitem'
import type { Start } from './starts'
import {
  newSession,
  onCached,
  onEvents,
  onEventsLoaded,
  onReading,
  onState,
  type SessionState,
} from './session'
import { onLive, onSeek, onWindowPage } from './window'

export interface AppState {
  readonly link: LinkState
  readonly hub: ConnectedMessage | null
  /** The session list by id; null until it was loaded once. */
  readonly list: ReadonlyMap<string, SessionInfo> | null
  readonly listError: string | null
  /** Whether the list was asked for since the connection opened: until then it may be of an earlier visit. */
  readonly listed: boolean
  /** The sessions held in memory, by id. */
  readonly sessions: ReadonlyMap<string, SessionState>
  readonly outbox: ReadonlyMap<string, OutboxItem>
  /** Sessions that wait to be made, oldest first. */
  readonly starts: readonly Start[]
  /** Newest last; the failure of a person's action. */
  readonly problems: readonly Problem[]
  /** Recent grants, oldest first. */
  readonly grants: readonly Grant[]
  /** Frames of types this app does not know. */
  readonly unknownFrames: number
  /** The hub is of another version than the one this page came from. */
  readonly skew: boolean
}

export interface Problem {
  readonly id: number
  readonly sessionId?: string
  /** The permission request it is about, and about nothing after it. */
  readonly request?: string
  readonly text: string
}

export const initial: AppState = {
  link: { phase: 'off', since: 0 },
  hub: null,
  list: null,
  listError: null,
  listed: false,
  sessions: new Map(),
  outbox: new Map(),
  problems: [],
  grants: [],
  unknownFrames: 0,
  skew: false,
  starts: [],
}

/** Returns the state after one message. It has no effect and reads no clock. */
export function reduce(state: AppState, message: Message): AppState {
  switch (message.kind) {
    case 'frame':
      return onFrame(state, message.frame)
    case 'unknown_frame':
      return { ...state, unknownFrames: state.unknownFrames + 1 }
    case 'starts':
      return { ...state, starts: message.starts }
    case 'skew':
      return { ...state, skew: true }
    case 'link':
      return { ...state, link: message.link, listed: state.listed && isOpen(message.link) }
    case 'listed':
      return {
        ...state,
        listError: null,
        listed: isOpen(state.link),
        list: new Map(message.sessions.flatMap((s) => exactInfo(s) ?? []).map((s) => [s.session_id, s])),
      }
    case 'list_failed':
      return { ...state, listError: message.text, listed: isOpen(state.link) }
    case 'list_changed':
      return {
        ...state,
        list: withEntry(state.list ?? new Map(), message.session.session_id, message.session),
      }
    case 'open':
      // A session that was gone is loaded again: it may have been restored.
      if ((state.sessions.get(message.sessionId)?.status ?? 'gone') !== 'gone') return state
      return {
        ...state,
        sessions: withEntry(state.sessions, message.sessionId, newSession(message.sessionId)),
      }
    case 'leave':
      return onSession(state, message.sessionId, (s) => ({ ...s, answered: false }))
    case 'cached':
      return onSession(state, message.sessionId, (s) => onCached(s, message.epoch, message.events))
    case 'close':
      return { ...state, sessions: without(state.sessions, message.sessionId) }
    case 'seek':
      return onSession(state, message.sessionId, (s) => onSeek(s, message.seq))
    case 'live':
      return onSession(state, message.sessionId, onLive)
    case 'window_page':
      return onSession(state, message.frame.session_id, (s) => onWindowPage(s, message.frame, message.target))
    case 'shut':
      return onSession(state, message.sessionId, (s) => ({ ...s, shut: message.reason, reading: null }))
    case 'reset_seen':
      return onSession(state, message.sessionId, (s) => ({ ...s, reset: null }))
    case 'outbox':
      return {
        ...(state.outbox.has(message.item.id) ? state : passed(state, message.item.sessionId)),
        outbox: withEntry(state.outbox, message.item.id, message.item),
      }
    case 'outbox_done':
      return { ...state, outbox: without(state.outbox, message.id) }
    case 'problem': {
      const id = (state.problems.at(-1)?.id ?? 0) + 1
      const { sessionId, request, text } = message
      const problem = { id, sessionId, request, text }
      return { ...state, problems: [...state.problems.slice(-4), problem] }
    }
    case 'problem_seen':
      return { ...state, problems: state.problems.filter((p) => p.id !== message.id) }
  }
}

function onFrame(state: AppState, frame: ServerMessage): AppState {
  switch (frame.type) {
    case 'connected':
      return {
        ...state,
        hub: frame,
        grants: [],
        listed: false, // an answer over another connection may be older than this one's events
        skew: state.skew || (state.hub?.version ?? frame.version) !== frame.version,
      }
    case 'events': {
      const asks = frame.events.some((e) => e.type === 'permission_request')
      const now = asks ? passed(state, frame.session_id) : state
      return onSession(now, frame.session_id, (s) => onEvents(s, frame))
    }
    case 'events_loaded':
      return onSession(state, frame.session_id, (s) => onEventsLoaded(s, frame))
    case 'state':
      return onSession(state, frame.session_id, (s) => onState(s, frame))
    case 'reading':
      return onSession(state, frame.session_id, (s) => onReading(s, frame))
    case 'session':
      return onListed(state, frame)
    case 'session_gone': {
      const gone = onSession(state, frame.session_id, (s) => ({ ...s, status: 'gone' }))
      return gone.list ? { ...gone, list: without(gone.list, frame.session_id) } : gone
    }
    case 'granted':
      return { ...state, grants: frame.grants }
    case 'pong':
    case 'heartbeat':
      return onMarks(state, frame.max_seq)
    case 'prompt_received':
    case 'prompt_queued':
    case 'prompt_removed':
    case 'prompt_interrupted':
    case 'permission_resolved':
    case 'error':
    case 'goodbye':
      return state // answers to the app's requests: net acts on them
    case 'comments':
      return onSession(state, frame.session_id, (s) => ({ ...s, comments: frame.version }))
  }
}

function isOpen(link: LinkState): boolean {
  return link.phase === 'open' || link.phase === 'checking'
}

/** The message about an earlier request is read by now, or no longer matters. */
function passed(state: AppState, sessionId: string): AppState {
  const problems = state.problems.filter((p) => !p.request || p.sessionId !== sessionId)
  return problems.length === state.problems.length ? state : { ...state, problems }
}

function onListed(state: AppState, frame: SessionMessage): AppState {
  if (state.list === null) return state // the whole list is on its way
  const session = exactInfo(frame.session)
  return session ? { ...state, list: withEntry(state.list, session.session_id, session) } : state
}

function onMarks(state: AppState, marks: Record<string, number>): AppState {
  let next = state
  for (const [id, seq] of Object.entries(marks ?? {})) {
    next = onSession(next, id, (s) => (seq > s.maxSeq ? { ...s, maxSeq: seq } : s))
  }
  return next
}

function onSession(state: AppState, id: string, change: (s: SessionState) => SessionState): AppState {
  const session = state.sessions.get(id)
  if (session === undefined) return state
  const next = change(session)
  return next === session ? state : { ...state, sessions: withEntry(state.sessions, id, next) }
}

function withEntry<V>(map: ReadonlyMap<string, V>, key: string, value: V): ReadonlyMap<string, V> {
  return new Map(map).set(key, value)
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  if (!map.has(key)) return map
  const next = new Map(map)
  next.delete(key)
  return next
}
