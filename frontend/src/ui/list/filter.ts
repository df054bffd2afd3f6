import { own } from '../../state/own'
import { base } from '../../text/path'
import type { SessionInfo } from '../../wire/gen'

/** What sessions are narrowed and grouped by. */
export const fields = ['project', 'agent', 'status', 'lifecycle', 'machine'] as const
export type Field = (typeof fields)[number]

/** Which sessions the list shows, and in which groups. Empty: all of them; by their need. */
export interface Filter {
  project: string
  status: string
  lifecycle: string
  agent: string
  machine: string
  tag: string
  by: '' | 'tree' | Field
}

/** The filter that shows every session. */
export const unfiltered: Filter = {
  project: '',
  status: '',
  lifecycle: '',
  agent: '',
  machine: '',
  tag: '',
  by: '',
}

const statusWords: Record<SessionInfo['status'], string> = {
  needs_you: t`Needs you`,
  running: t`Running`,
  idle: t`Idle`,
  failed: t`Failed`,
  interrupted: t`Interrupted`,
  paused: t`Paused`,
  ended: t`Ended`,
  imported: t`Imported`,
  damaged: t`Damaged`,
}

export const lifecycleWords: Record<SessionInfo['lifecycle'], string> = {
  active: t`Active`,
  paused: t`Paused`,
  completed: t`Completed`,
  failed: t`Failed`,
  expired: t`Expired`,
}

export const of = {
  project: (s: SessionInfo) => base(s.project_root ?? s.workspace),
  agent: (s: SessionInfo) => s.agent,
  machine: (s: SessionInfo) => s.machine?.name ?? t`This hub`,
  status: (s: SessionInfo) => own(statusWords, s.status) ?? s.status,
  /** Empty in a line that an older app kept. */
  lifecycle: (s: SessionInfo) => own(lifecycleWords, s.lifecycle ?? '') ?? s.lifecycle ?? '',
}

/** Returns whether a session is one that the filter shows. */
export function fits(session: SessionInfo, filter: Filter): boolean {
  if (filter.tag !== '' && !session.tags?.includes(filter.tag)) return false
  return fields.every((what) => filter[what] === '' || of[what](session) === filter[what])
}

/** Groups sessions by project, agent or status, in the order in which the first of each comes. */
export const groupsBy = (by: keyof typeof of) => (sessions: readonly SessionInfo[]) => {
  const groups = new Map<string, SessionInfo[]>()
  for (const session of sessions) {
    const title = of[by](session)
    groups.set(title, [...(groups.get(title) ?? []), session])
  }
  return [...groups].map(([title, sessions]) => ({ title, sessions }))
}
