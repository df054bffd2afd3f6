import type { Comment, CommentList, ExportPreview, NewFork, Seq, SessionInfo } from '../wire/gen'

export const formats = ['html', 'markdown', 'zip', 'jsonl'] as const
export type Format = (typeof formats)[number]

export const redactions = ['secrets', 'paths', 'images', 'thoughts', 'outputs'] as const
export type Redaction = (typeof redactions)[number]

/** The events from one seq to another; all of them without. */
export interface Part {
  readonly from?: Seq
  readonly to?: Seq
}

/** The requests of a review to the hub. The text of an error is for the person. */
export interface Reviews {
  comments(sessionId: string): Promise<CommentList>
  /** Sent again with the same key it adds nothing. */
  comment(sessionId: string, from: Seq, to: Seq, text: string, key: string): Promise<Comment>
  change(
    sessionId: string,
    commentId: string,
    to: { readonly text?: string; readonly resolved?: boolean },
  ): Promise<Comment>
  remove(sessionId: string, commentId: string): Promise<void>
  /** Sent again with the same key it makes no second session. */
  fork(sessionId: string, fork: NewFork, key: string): Promise<SessionInfo>
  preview(sessionId: string, part: Part): Promise<ExportPreview>
  /** Where a browser downloads the export from, for some minutes. */
  exportAddress(sessionId: string, format: Format, redact: readonly Redaction[], part: Part): Promise<string>
}

/** Comments as one prompt, oldest place first. */
export function promptOf(comments: readonly Comment[]): string {
  const inOrder = [...comments].sort((a, b) => a.from_seq - b.from_seq)
  const lines = inOrder.map((c) => `- ${placeOf(c)}: ${c.text.replaceAll('\n', '\n  ')}`)
  return t`Please take these review comments into account:\n\n${lines.join('\n')}`
}

/** The events a comment is on, in words. */
export function placeOf({ from_seq, to_seq }: Comment): string {
  return from_seq === to_seq ? t`Event ${from_seq}` : t`Events ${from_seq} to ${to_seq}`
}
