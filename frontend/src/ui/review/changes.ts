import type { Ask } from '../../state/pages'
import { after, emptyFeed } from '../../state/feed'
import type { ToolItem } from '../../state/items'
import { carried } from '../../state/moment'
import { wasDone } from '../../state/requests'
import { toolView, type FileChange } from '../../state/tool'
import { diffTexts, type Diff } from '../../text/diff'
import type { Seq } from '../../wire/gen'

/** One change to a file, and where in the session it was made. */
export interface Edit {
  readonly seq: Seq
  readonly change: FileChange
}

/** All changes to a piece of a file, as one. A file that agents show only parts of may have several pieces. */
export interface Piece {
  readonly path: string
  readonly before: string
  readonly after: string
  /** For each line of `after`: the seq of the edit that wrote it, 0 where it was there before. */
  readonly wrote: readonly Seq[]
  readonly diff: Diff
  /** The lines of the file that its sides begin at, as the change has it. */
  readonly first?: FileChange['first']
}

export interface FileChanges {
  readonly path: string
  readonly pieces: readonly Piece[]
  /** Edits with texts too large for the log: they are not in the pieces. */
  readonly large: readonly Seq[]
}

/** Edits that are looked at, at most: a longer session shows its first ones. */
export const editsMost = 2000

/** Reads the edits that were made up to a seq, oldest first. */
export async function editsUpTo(seq: Seq, min: Seq, ask: Ask, ended: AbortSignal): Promise<Edit[]> {
  const calls = new Map<string, ToolItem>()
  let feed = emptyFeed(min - 1)
  while (feed.last < seq && calls.size < editsMost) {
    const answer = await ask(feed.last, Math.min(500, seq - feed.last), ended)
    if (answer.verdict === 'reset' || answer.events.length === 0) break
    feed = after(feed, answer.events)
    for (const item of feed.items) {
      if (item.kind !== 'tool') continue
      if (wasDone(feed, item) && toolView(item).changes.length > 0) calls.set(item.key, item)
      else calls.delete(item.key)
    }
    feed = carried(feed)
  }
  return [...calls.values()]
    .sort((a, b) => a.last - b.last)
    .flatMap((item) => toolView(item).changes.map((change) => ({ seq: item.seq, change })))
}

/** All edits as one change per file, in the order in which files were first changed. */
export function byFile(edits: readonly Edit[]): FileChanges[] {
  const files = new Map<string, { large: Seq[]; pieces: Growing[] }>()
  for (const { seq, change } of edits) {
    let file = files.get(change.path)
    if (!file) files.set(change.path, (file = { large: [], pieces: [] }))
    if (change.large) {
      file.large.push(seq)
      continue
    }
    const piece = file.pieces.find((p) => p.takes(change))
    if (piece) piece.apply(seq, change)
    else file.pieces.push(new Growing(seq, change))
  }
  return [...files].map(([path, { large, pieces }]) => ({
    path,
    large,
    pieces: pieces.filter((p) => p.before !== p.after).map((p) => p.done(path)),
  }))
}

/** A piece of a file while edits are put on it. */
class Growing {
  readonly before: string
  after: string
  private wrote: Seq[]
  /** The lines of the file that it begins at, where its first edit said so. */
  private readonly first: FileChange['first']

  constructor(seq: Seq, change: FileChange) {
    this.before = this.after = change.before
    this.first = change.first
    this.wrote = linesOf(change.before).map(() => 0)
    this.apply(seq, change)
  }

  /** Whether an edit begins with this piece, or with a part of it that is there once. */
  takes({ before }: FileChange): boolean {
    if (before === this.after) return true
    if (before === '') return false
    const at = this.after.indexOf(before)
    return at >= 0 && this.after.indexOf(before, at + 1) < 0
  }

  apply(seq: Seq, { before, after }: FileChange): void {
    const at = before === '' ? 0 : this.after.indexOf(before)
    const now =
      this.after === before ? after : this.after.slice(0, at) + after + this.after.slice(at + before.length)
    const { lines } = diffTexts(this.after, now)
    const removed = new Set(lines.flatMap((line) => (line.kind === 'remove' ? [line.old!] : [])))
    const added = new Set(lines.flatMap((line) => (line.kind === 'add' ? [line.new!] : [])))
    const kept = this.wrote.filter((_, i) => !removed.has(i + 1))
    let next = 0
    this.wrote = linesOf(now).map((_, i) => (added.has(i + 1) ? seq : (kept[next++] ?? 0)))
    this.after = now
  }

  done(path: string): Piece {
    return {
      path,
      before: this.before,
      after: this.after,
      wrote: this.wrote,
      ...(this.first !== undefined && { first: this.first }),
      diff: diffTexts(this.before, this.after),
    }
  }
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
