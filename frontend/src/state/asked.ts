import type { PermissionItem, ToolItem } from './items'
import { askView } from './askview'
import { toolView, type ToolView } from './tool'

/**
 * The present call of a waiting request, where it differs from the request; else null. Fields that
 * an update lacks have not changed, and a new status alone is no difference. Fields that the
 * request lacks are shown from the call, and never differ.
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
