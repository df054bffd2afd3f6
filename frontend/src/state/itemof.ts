import type { AbideEvent, ToolCallData } from '../wire/gen'
import { textOf, type Item, type Role } from './items'
import { record } from './json'
import { parentOf } from './parent'

/**
 * Returns the item that one event alone makes, or null for an event that is
 * not shown in the feed. Feed.add combines items with one key.
 */
export function itemOf(event: AbideEvent): Item | null {
  const head = {
    seq: event.first_seq ?? event.seq,
    last: event.seq,
    time: event.time,
    until: event.time,
    turn: event.turn ?? 0,
    ...(event.unverified ? { unverified: true } : {}),
  }
  switch (event.type) {
    case 'user_prompt': {
      const d = event.data
      return {
        ...head,
        ...textOf(d.text),
        kind: 'prompt',
        key: `prompt:${d.prompt_id}`,
        promptId: d.prompt_id,
        attachments: list(d.attachments),
        actor: d.actor ?? '',
        queuedAt: d.queued_at,
      }
    }
    case 'agent_message':
      return textItem(head, 'message', event.data.message_id, event.data)
    case 'agent_thought':
      return textItem(head, 'thought', event.data.message_id, event.data)
    case 'tool_call':
    case 'tool_call_update':
      return { ...head, ...toolFields(event.data), key: toolKey(head.turn, event.data.tool_call_id) }
    case 'plan':
      return { ...head, kind: 'plan', key: `plan:${head.turn}`, entries: list(event.data.entries) }
    case 'permission_request': {
      const d = event.data
      return {
        ...head,
        kind: 'permission',
        key: `permission:${d.permission_id}`,
        permissionId: d.permission_id,
        ask: {
          toolCallId: d.tool_call_id,
          title: d.title,
          options: list(d.options),
          toolCall: d.tool_call,
          ...(d.form === undefined ? {} : { form: d.form }),
          ...(d.url === undefined ? {} : { url: d.url }),
        },
      }
    }
    case 'permission_outcome':
      return {
        ...head,
        kind: 'permission',
        key: `permission:${event.data.permission_id}`,
        permissionId: event.data.permission_id,
        outcome: event.data,
      }
    case 'terminal_output': {
      const d = event.data
      return {
        ...head,
        kind: 'terminal',
        key: terminalKey(head.turn, d.terminal_id),
        terminalId: d.terminal_id,
        output: textOf(d.data).text,
        exit: d.exit,
      }
    }
    case 'turn_end': {
      const d = event.data
      return {
        ...head,
        kind: 'turn_end',
        key: `turn_end:${head.seq}`,
        promptId: d.prompt_id,
        stopReason: d.stop_reason,
        by: d.by ?? '',
        usage: d.usage,
        error: d.error,
      }
    }
    case 'session_start':
    case 'session_end':
    case 'session_paused':
    case 'session_resumable':
    case 'session_resumed':
    case 'file_read':
    case 'file_write':
    case 'agent_started':
    case 'agent_exit':
    case 'agent_stalled':
    case 'error':
    case 'epoch':
    case 'log_truncated':
    case 'corrupt':
      return { ...head, kind: 'event', key: `event:${head.seq}`, event }
    case 'note':
      return background(event.data) ? null : { ...head, kind: 'event', key: `event:${head.seq}`, event }
    case 'turn_start':
    case 'turn_interrupted': // the end of the turn follows
    case 'interruption_settled':
    case 'workspace_seen':
    case 'mode':
    case 'config':
    case 'commands':
    case 'usage':
    case 'title':
    case 'segment_start':
      return null
    default: {
      // A newer hub may send types this app was not built with.
      const unknown: { type: string; data: unknown } = event satisfies never
      return { ...head, kind: 'unknown', key: `event:${head.seq}`, type: unknown.type, data: unknown.data }
    }
  }
}

/** Says whether a note is of a kind that is no line of the talk, as Note.Background in Go. */
function background(note: { method: string; from?: string; text?: unknown; raw?: unknown }): boolean {
  if (['abide/branch', 'abide/checkpoint', 'abide/job_answer'].includes(note.method) && !note.from)
    return !note.text
  if (note.method.startsWith('_auth/') || note.method === 'elicitation/complete') {
    return true
  }
  const update = record(note.raw)
  const kind = update['sessionUpdate']
  return (
    note.method === 'session/update' &&
    !note.text &&
    (kind === 'session_info_update' || kind === 'agent_message_chunk' || kind === 'user_message_chunk')
  )
}

type HeadOnly = Pick<Item, 'seq' | 'last' | 'time' | 'until' | 'turn'>

function textItem(
  head: HeadOnly,
  role: Role,
  messageId: string,
  data: { text?: Parameters<typeof textOf>[0]; content?: unknown },
): Item {
  if (data.content !== undefined && data.text === undefined) {
    return { ...head, kind: 'content', key: `content:${head.seq}`, role, content: data.content }
  }
  return { ...head, ...textOf(data.text), kind: 'text', key: `text:${head.seq}`, role, messageId }
}

function toolFields(d: ToolCallData): Omit<Extract<Item, { kind: 'tool' }>, keyof HeadOnly | 'key'> {
  return {
    kind: 'tool',
    toolCallId: d.tool_call_id,
    title: d.title,
    toolKind: d.kind,
    status: d.status,
    content: d.content,
    ...(d.content_added === undefined && !d.content_cut
      ? {}
      : { grown: { cut: d.content_cut, added: textOf(d.content_added).text } }),
    diffs: diffsIn(d.content),
    locations: d.locations,
    rawInput: d.raw_input,
    rawOutput: d.raw_output,
    ...(d.output_grown && { outputGrown: d.output_grown }),
    synthetic: d.synthetic,
    parent: parentOf(d.raw),
  }
}

function diffsIn(content: unknown): readonly unknown[] | undefined {
  const diffs = Array.isArray(content) ? content.filter((entry) => record(entry)['type'] === 'diff') : []
  return diffs.length > 0 ? diffs : undefined
}

/** A list as it should be; a value that was too large for the log is a reference in its place. */
function list<T>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value : []
}

/** Turn and id together name a tool call: ids are the agent's, and may come again. */
export function toolKey(turn: number, toolCallId: string): string {
  return `tool:${turn}:${toolCallId}`
}

/** Turn and id together name a terminal, too. */
export function terminalKey(turn: number, terminalId: string): string {
  return `terminal:${turn}:${terminalId}`
}
