import type { Attachment, RuleScope } from '../wire/gen'

export type OutboxStatus = 'queued' | 'sending' | 'accepted' | 'failed'

/** A file of a prompt on its way; stored is what the hub said of it once it has the bytes. */
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
  /** What was filled in, where the request had a form. */
  readonly content?: unknown
  /** How far the answer is kept as a rule; absent for this once. */
  readonly remember?: RuleScope
  /** When the prompt is to be taken from the queue (RFC 3339); absent for as soon as can be. */
  readonly scheduledAt?: string
  readonly createdAt: number
  readonly status: OutboxStatus
  /** What went wrong, in words for a person. */
  readonly problem?: string
  /** Too old to be sent without asking. */
  readonly stale?: boolean
}
