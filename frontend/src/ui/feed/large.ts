import type { Large } from '../../state/large'
import type { FileChange } from '../../state/tool'

/** The most of a blob a page reads and shows; more is there to download. */
const most = 4 << 20

/** Whether a large value can be read within the page. */
export function readable(large: Large | null): boolean {
  return large === null || (large.bytes !== null && large.bytes <= most)
}

/** Returns a change with both of its sides whole, so that they can be compared. */
export async function wholeOf(
  change: FileChange,
  blob: (sha256: string) => Promise<string>,
): Promise<FileChange> {
  const { large } = change
  const [before, after] = await Promise.all([
    large?.before ? blob(large.before.sha256) : change.before,
    large?.after ? blob(large.after.sha256) : change.after,
  ])
  return { path: change.path, before, after }
}
