import type { PlanEntry } from '../../wire/gen'

/** How many entries of a plan are shown until all are asked for. */
export const most = 12

/**
 * The entries around the one in progress, or next, how many come before them, and how many of those
 * are done.
 */
export function around(entries: readonly PlanEntry[], limit: number) {
  const now = entries.findIndex((e) => e.status === 'in_progress')
  const at = now >= 0 ? now : entries.findIndex((e) => e.status !== 'completed')
  const from = Math.max(0, Math.min((at < 0 ? entries.length : at) - 2, entries.length - limit))
  const before = entries.length <= limit ? 0 : from
  return {
    entries: entries.slice(before, before + limit),
    before,
    done: entries.slice(0, before).filter((e) => e.status === 'completed').length,
  }
}

/** Describes the hidden entries before the shown ones. */
export function folded(before: number, done: number): string {
  return before === done ? t`${done} done` : t`${before} earlier, ${done} done`
}
