import type { ModeOption, PlanEntry, SessionInfo, StateMessage, TurnState } from '../wire/gen'
import type { AppState } from './app'
import type { OutboxItem } from './outboxitem'
import { find, type Latest } from './feed'
import type { PermissionItem } from './items'
import { modeIn, optionsIn } from './mode'
import { hasGap, type SessionState } from './session'

/** Returns whether a session waits for a person: a question, a login, or a turn that was cut off. */
export function waits({ status }: SessionInfo): boolean {
  return status === 'needs_you' || status === 'interrupted'
}

/** Returns whether a session never had a prompt, and nothing else says what it is for. */
export function neverUsed(s: SessionInfo): boolean {
  const about = s.name || s.last_line || s.forked_from || s.imported || s.adopted || s.pinned || s.archived
  return !about && s.status === 'idle'
}

/** Sessions in the order of need: waiting for a person, then running, then the rest; pinned first among equals. */
export function byNeed(list: Iterable<SessionInfo>): SessionInfo[] {
  const rank = (s: SessionInfo) => (s.archived ? 9 : waits(s) ? 0 : s.status === 'running' ? 1 : 2)
  return [...list].sort(
    (a, b) =>
      rank(a) - rank(b) || Number(b.pinned) - Number(a.pinned) || b.updated_at.localeCompare(a.updated_at),
  )
}

/** Permission requests that wait for an answer, oldest first. */
export function openPermissions(session: SessionState): PermissionItem[] {
  const open: PermissionItem[] = []
  const pending = session.live?.pending_permissions
  for (const [key] of session.feed.keyed) {
    if (!key.startsWith('permission:')) continue
    const item = find(session.feed, 'permission', key)
    if (!item?.ask || item.outcome) continue
    // State that already reflects the request and does not list it knows better.
    if (pending && session.live!.at_seq >= item.seq && !pending.includes(item.permissionId)) continue
    open.push(item)
  }
  return open.sort((a, b) => a.seq - b.seq)
}

/** Prompts on their way that neither the feed nor the queue shows yet. */
export function ownPrompts(state: AppState, session: SessionState): OutboxItem[] {
  const queued = new Set(session.live?.queue.map((q) => q.prompt_id))
  return [...state.outbox.values()].filter(
    (o) =>
      o.kind === 'prompt' &&
      o.sessionId === session.id &&
      !queued.has(o.id) &&
      !session.feed.keyed.has(`prompt:${o.id}`),
  )
}

/** The same object each time, so that its readers are not updated. */
const noModes: readonly ModeOption[] = []

/** The agent's latest settings: from events where they have them, else from the state. */
export function told(session: SessionState): Told {
  return toldIn(session.feed.latest, session.live)
}

type Told = Pick<StateMessage, 'mode' | 'config' | 'commands' | 'usage'> & {
  modes: readonly { id: string; name: string; description?: string }[]
}

/** The agent's settings after the newest events that tell them. */
export function toldIn(latest: Latest, live?: StateMessage | null): Told {
  const mode = latest.mode?.value ?? live?.mode
  const modes = latest.modes?.value ?? live?.mode?.modes ?? noModes
  const config = latest.config?.value ?? live?.config
  const byOption = (latest.config?.seq ?? 0) > (latest.mode?.seq ?? 0)
  return {
    mode: byOption ? modeIn(config, mode, modes) : mode,
    modes,
    config: byOption ? config : optionsIn(mode, config),
    commands: latest.commands?.value ?? live?.commands,
    usage: latest.usage?.value ?? live?.usage,
  }
}

/** The newest plan, unless it is of an earlier turn and done. */
export function planOf(session: SessionState): readonly PlanEntry[] {
  let newest: { seq: number; entries: readonly PlanEntry[] } | null = null
  for (const key of session.feed.keyed.keys()) {
    if (!key.startsWith('plan:')) continue
    const item = find(session.feed, 'plan', key)
    if (item && (newest === null || item.last > newest.seq))
      newest = { seq: item.last, entries: item.entries }
  }
  return newest?.entries ?? []
}

export function turnState(session: SessionState): TurnState {
  return session.live?.turn.state ?? 'idle'
}

/** Whether a session has no prompt, neither sent nor waiting. */
export function untouched(session: SessionState): boolean {
  if (session.status !== 'ready' || session.feed.first > 1 || turnState(session) !== 'idle') return false
  if (session.live === null || session.live.queue.length > 0) return false
  for (const key of session.feed.keyed.keys()) if (key.startsWith('prompt:')) return false
  return true
}

/** How many events the hub has that are not shown yet. */
export function behind(session: SessionState): number {
  return hasGap(session)
    ? Math.max(1, session.maxSeq - session.feed.last)
    : Math.max(0, session.maxSeq - session.feed.last)
}

/**
 * How long the agent has said nothing, in ms at a time of Date.now. Never longer than the turn: the
 * time before it is not its silence.
 */
export function silence(session: SessionState, now: number): number {
  const newest = Date.parse(session.feed.items.last()?.until ?? '')
  const since = Date.parse(session.live?.turn.since ?? '')
  const spoke = Math.max(newest, since) || newest || since
  return spoke ? now - spoke : 0
}
