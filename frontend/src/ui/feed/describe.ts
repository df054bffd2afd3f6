import { textOf } from '../../state/items'
import { own } from '../../state/own'
import { bytes, stretch } from '../../text/time'
import type { AbideEvent, Forked } from '../../wire/gen'

/** An event in words. */
export interface Said {
  tone: 'quiet' | 'warn' | 'bad'
  text: string
  detail?: string
  raw?: unknown
  /** The event of another session that it is about. */
  from?: Forked
}

/** Why an agent is gone, for reasons that need words. */
const causes: Record<string, string> = {
  stdin_closed: t`it closed its standard input`,
  stdout_closed: t`it closed its standard output`,
  stdin_stuck: t`it stopped reading its standard input`,
  folder_gone: t`its folder does not exist`,
}

/** Says an event that has no card of its own. */
export function describe(event: AbideEvent): Said {
  switch (event.type) {
    case 'session_start': {
      const d = event.data
      const branch = d.git?.branch ? t` on ${d.git.branch}` : ''
      return { tone: 'quiet', text: t`Session with ${d.agent} in ${d.workspace}${branch}` }
    }
    case 'session_end':
      return { tone: 'quiet', text: t`Session ended: ${event.data.reason}` }
    case 'session_paused':
      return { tone: 'quiet', text: t`Paused by ${event.data.by}` }
    case 'session_resumable':
      return {
        tone: 'quiet',
        text: event.data.resumable
          ? t`Marked as resumable by ${event.data.by}`
          : t`Not resumable any more, by ${event.data.by}`,
      }
    case 'session_resumed':
      return { tone: 'quiet', text: t`Resumed by ${event.data.by}` }
    case 'agent_started': {
      const d = event.data
      const name = [d.name ?? d.agent, d.version].filter(Boolean).join(' ')
      if (d.context_lost) {
        return { tone: 'warn', text: t`${name} restarted without context` }
      }
      return { tone: 'quiet', text: d.resumed ? t`${name} resumed with context` : t`${name} started` }
    }
    case 'agent_exit': {
      const d = event.data
      const how = d.signal ? ` (${d.signal})` : d.code !== undefined ? t` (exit ${d.code})` : ''
      const calm = d.code === 0 || d.reason === 'stopped'
      return {
        tone: calm ? 'quiet' : 'bad',
        text:
          d.reason === 'exited'
            ? t`The agent ended${how}`
            : t`The agent ended: ${own(causes, d.reason) ?? d.reason}${how}`,
        detail: d.stderr_tail || undefined,
      }
    }
    case 'agent_stalled':
      return { tone: 'warn', text: t`Agent silent for ${stretch(event.data.silent_ms)}` }
    case 'file_read':
      return { tone: 'quiet', text: t`Read ${event.data.path} (${bytes(event.data.bytes)})` }
    case 'file_write':
      return { tone: 'quiet', text: t`Wrote ${event.data.path} (${bytes(event.data.bytes)})` }
    case 'error':
      return { tone: 'bad', text: event.data.message || event.data.code, detail: event.data.detail }
    case 'note': {
      const { text } = textOf(event.data.text)
      const own = !event.data.from && event.data.method.startsWith('abide/')
      const { method } = event.data
      if (method === 'abide/forked') {
        const from = event.data.raw as Forked
        return {
          tone: 'quiet',
          text: t`Forked from event ${from.seq} of another session`,
          detail: text,
          from,
        }
      }
      const [part] = /^(fs|terminal)(?=\/)/.exec(method) ?? []
      const unknown = part
        ? t`The agent was told that “${method}” is off. Some agents then do it by themselves. “${part}: true” in the agent’s configuration turns it on.`
        : t`Unsupported update “${kindIn(event.data.raw) ?? method}” (kept in the log)`
      return {
        tone: 'quiet',
        text: text || (own ? event.data.method : unknown),
        raw: own ? undefined : event.data.raw,
      }
    }
    case 'epoch':
      return { tone: 'warn', text: t`This session’s log has changed: ${event.data.reason}` }
    case 'log_truncated':
      return {
        tone: 'bad',
        text: t`Events ${event.data.from} to ${event.data.to} were lost and cannot be brought back`,
      }
    case 'corrupt':
      return { tone: 'bad', text: t`Event ${event.seq} cannot be read: ${event.data.reason}` }
    default:
      return { tone: 'quiet', text: event.type, raw: event.data }
  }
}

/** An update's own kind, where it has one; it is kept alone or with its params. */
function kindIn(raw: unknown): string | undefined {
  const sent = raw as { sessionUpdate?: unknown; update?: { sessionUpdate?: unknown } } | null | undefined
  const kind = sent?.sessionUpdate ?? sent?.update?.sessionUpdate
  return typeof kind === 'string' ? kind : undefined
}
