import type { Feed } from './feed'
import { quoteMost } from './remarks'
import { toolView } from './tool'
import type { Comment, CommentList, ExportPreview, NewComment, NewFork, Seq, SessionInfo } from '../wire/gen'

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
  comment(sessionId: string, comment: NewComment, key: string): Promise<Comment>
  change(
    sessionId: string,
    commentId: string,
    to: { readonly text?: string; readonly resolved?: boolean },
  ): Promise<Comment>
  remove(sessionId: string, commentId: string): Promise<void>
  /** Sent again with the same key it makes no second session. */
  fork(sessionId: string, fork: NewFork, key: string): Promise<SessionInfo>
  /** Brings back an export: a zip, or the lines of its events. One that is there already is answered as it is. */
  bring(file: Blob): Promise<SessionInfo>
  preview(sessionId: string, part: Part): Promise<ExportPreview>
  /** Where a browser downloads the export from, for some minutes. */
  exportAddress(sessionId: string, format: Format, redact: readonly Redaction[], part: Part): Promise<string>
}

/** Comments as one prompt, oldest place first, each with the code or the words it is about. */
export function promptOf(comments: readonly Comment[]): string {
  const inOrder = [...comments].sort((a, b) => a.from_seq - b.from_seq)
  return t`Review comments:\n\n${inOrder.map(lineOf).join('\n')}`
}

function lineOf({ path, side, quote, text, ...c }: Comment): string {
  const words = text.replaceAll('\n', '\n  ')
  // The agent knows no events: a place in the log is named only where nothing else is known.
  const removed = side === 'old' ? t` (removed)` : ''
  const place = path ? lineIn({ path, ...c }) + removed : quote ? '' : placeOf(c)
  if (!quote) return `- ${place}: ${words}`
  if (!quote.includes('\n') && !quote.includes('`') && path) return `- ${place} \`${quote.trim()}\`: ${words}`
  return `- ${[place, ...quote.split('\n').map((line) => `> ${line}`)].filter(Boolean).join('\n  ')}\n\n  ${words}`
}

function lineIn({ path, line, end_line }: Pick<Comment, 'path' | 'line' | 'end_line'>): string {
  if (!line) return path ?? ''
  return end_line && end_line > line ? `${path}:${line}-${end_line}` : `${path}:${line}`
}

/** What a comment is about, in words: lines of a file, a message, or events. */
export function placeOf(at: Omit<NewComment, 'text'>): string {
  const { from_seq, to_seq = from_seq } = at
  if (at.path) return lineIn({ ...at, path: at.path.replace(/^.*[\\/]/, '') })
  if (at.quote) return t`“${short(at.quote)}”`
  return from_seq === to_seq ? t`Event ${from_seq}` : t`Events ${from_seq} to ${to_seq}`
}

function short(quote: string): string {
  const line = quote.trim().split('\n', 1)[0] ?? ''
  return line.length > 40 ? `${line.slice(0, 39)}…` : line
}

/** What an event shows, as a comment on it quotes it. */
export function aboutEvent(feed: Feed, seq: Seq): Omit<NewComment, 'text'> {
  const item = [...feed.items].findLast((item) => item.seq <= seq && item.kind !== 'turn_end')
  if (item?.kind === 'text' || item?.kind === 'prompt')
    return { from_seq: seq, quote: item.text.slice(0, quoteMost) }
  if (item?.kind !== 'tool') return { from_seq: seq }
  const { changes, command, title } = toolView(item)
  return {
    from_seq: seq,
    ...(changes[0] && { path: changes[0].path }),
    quote: (command ?? title).slice(0, quoteMost),
  }
}
