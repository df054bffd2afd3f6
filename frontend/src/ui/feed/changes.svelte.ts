import type { FileChange, ToolView } from '../../state/tool'
import type { Diff } from '../../text/diff'

/**
 * Compares the two sides of changes. The code for it is loaded when the first is to be compared:
 * many screens have none.
 */
class Comparer {
  /** It could not be loaded, the last time it was tried. */
  failed = $state(false)
  private compare = $state.raw<typeof import('../../text/diff') | null>(null)
  private loading: Promise<void> | undefined
  private readonly diffs = new WeakMap<FileChange, Diff>()

  /** Loads the comparing code; never rejects. */
  load(): Promise<void> {
    return (this.loading ??= import('../../text/diff').then(
      (part) => {
        this.compare = part
        this.failed = false
      },
      () => {
        this.loading = undefined // the next change tries again
        this.failed = true
      },
    ))
  }

  /**
   * Returns how the sides differ, kept for as long as the change is; null until that can be said, and of
   * sides that did not come whole; reactive.
   */
  of(change: FileChange): Diff | null {
    if (change.large) return null
    let diff = this.diffs.get(change)
    if (diff) return diff
    if (!this.compare) return (void this.load(), null)
    this.diffs.set(change, (diff = this.compare.diffTexts(change.before, change.after)))
    return diff
  }

  /** A change as a unified diff, once `of` has told how its sides differ. */
  patch({ path, before, after }: FileChange): string {
    return this.compare?.patchOf(path, before, after) ?? ''
  }
}

export const comparer = new Comparer()

/** How many lines changes add and remove in all, null while that cannot be said; reactive. */
export function sumOf(changes: ToolView['changes']): { added: number; removed: number } | null {
  const sum = { added: 0, removed: 0 }
  for (const change of changes) {
    const diff = comparer.of(change)
    if (!diff) return null
    sum.added += diff.added
    sum.removed += diff.removed
  }
  return sum
}
