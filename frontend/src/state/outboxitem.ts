import type { Attachment, RuleScope, Seq } from '../wire/gen'

export type OutboxStatus = 'queued' | 'sending' | 'accepted' | 'failed'

/** A file of a prompt on its way; stored is the hub's record of it once it has the bytes. */
export interface OutboxFile {
  readonly name: string
  readonly blob: Blob
  readonly stored?: Attachment
}

/** A prompt or a permission answer on its way; its id makes a resend harmless. */
export interface OutboxItem {
  readonly id: string
  readonly sessionId: string
  readonly kind: 'prompt' | 'answer'
  /** The prompt's text. */
  readonly text: string
  /** The prompt's files: the hub has them all before the prompt is sent. */
  readonly files?: readonly OutboxFile[]
  /** The answer's option. */
  readonly optionId?: string
  /** The filled-in form, where the request had one. */
  readonly content?: unknown
  /** How far the answer is kept as a rule; absent for this once. */
  readonly remember?: RuleScope
  /** The last event on screen when the person answered. */
  readonly seenSeq?: Seq
  /** When the prompt is to be taken from the queue (RFC 3339); absent for as soon as can be. */
  readonly scheduledAt?: string
  readonly createdAt: number
  readonly status: OutboxStatus
  /** The failure, in words for a person. */
  readonly problem?: string
  /** Too old to be sent without asking. */
  readonly stale?: boolean
}

/**
 * Reads an item as a device kept it; null for a value that is none. One without a time counts as
 * old, so that it asks before it is sent.
 */
export function keptItem(value: unknown): OutboxItem | null {
  const item = value as { readonly [K in keyof OutboxItem]?: unknown } | null | undefined
  if (typeof item?.id !== 'string' || typeof item.sessionId !== 'string') return null
  if (item.kind !== 'prompt' && item.kind !== 'answer') return null
  const { text, files, createdAt, problem } = item
  if (item.kind === 'prompt' && typeof text !== 'string') return null
  if (files !== undefined && !(Array.isArray(files) && files.every(isFile))) return null
  const known = typeof createdAt === 'number' && Math.abs(createdAt) <= 8.64e15
  return {
    ...(item as OutboxItem),
    text: typeof text === 'string' ? text : '',
    createdAt: known ? createdAt : 0,
    status: item.status === 'failed' ? 'failed' : 'queued',
    problem: typeof problem === 'string' ? problem : undefined,
    scheduledAt: typeof item.scheduledAt === 'string' ? item.scheduledAt : undefined,
  }
}

function isFile(value: unknown): boolean {
  const file = value as { readonly [K in keyof OutboxFile]?: unknown } | null
  return typeof file?.name === 'string' && file.blob instanceof Blob
}
