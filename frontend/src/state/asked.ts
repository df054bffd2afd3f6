import type { PermissionItem, ToolItem } from './items'
import { askView } from './askview'
import { toolView, type ToolView } from './tool'

/**
 * What the call of a waiting request is now, where that is no longer what was asked; else null.
 * What an update leaves out has not changed, and news of its status alone is none. What the request
 * itself does not say is shown as the call has it, and never differs.
 */
export function changedSince(item: PermissionItem, known: ToolItem | undefined): ToolView | null {
  if (!item.ask || !known || known.last <= item.seq) return null
  const asked = askView(item.ask, known)
  const now = toolView(known)
  const other = (is: unknown, was: unknown) => JSON.stringify(is) !== JSON.stringify(was)
  const same =
    now.command !== null
      ? now.command === asked.command &&
        !other(now.commandLarge, asked.commandLarge) &&
        now.directory === asked.directory
      : asked.command !== null ||
        (now.title === asked.title && !(now.input !== undefined && other(now.input, asked.input)))
  const more =
    (now.changes.length > 0 && other(now.changes, asked.changes)) ||
    (now.large.length > 0 && other(now.large, asked.large))
  return same && !more ? null : now
}
