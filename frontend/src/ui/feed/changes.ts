import type { FileChange, ToolView } from '../../state/tool'
import { diffTexts, type Diff } from '../../text/diff'

const diffs = new WeakMap<FileChange, Diff>()

/** Compares a change's two sides; the answer is kept for as long as the change is. */
export function diffOf(change: FileChange): Diff {
  let diff = diffs.get(change)
  if (!diff) diffs.set(change, (diff = diffTexts(change.before, change.after)))
  return diff
}

/** How many lines a tool call adds and removes in all. */
export function changesOf(tool: ToolView): { added: number; removed: number } {
  let added = 0
  let removed = 0
  for (const change of tool.changes) {
    const diff = diffOf(change)
    added += diff.added
    removed += diff.removed
  }
  return { added, removed }
}
