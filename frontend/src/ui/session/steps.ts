import type { Row } from '../../state/rows'
import { toolView } from '../../state/tool'
import { describe } from '../feed/describe'
import type { Action } from '../keys'

/** A way through the feed: which way, and which rows it stops at. */
export interface Step {
  by: 1 | -1
  fits: (row: Row) => boolean
  /** The stops of a step, in words; without it every row does. */
  what?: string
}

const any = () => true
const tool = (row: Row) => row.kind === 'group' || row.item.kind === 'tool'
const diff = (row: Row) =>
  row.kind === 'item' && row.item.kind === 'tool' && toolView(row.item).changes.length > 0
const prompt = (row: Row) => row.kind === 'item' && row.item.kind === 'prompt'
/** Ends that are no failure: the agent's own, and a person's stop. */
const calm: ReadonlySet<string> = new Set(['end_turn', 'cancelled'])
const error = (row: Row) =>
  row.kind === 'item' &&
  ((row.item.kind === 'tool' && row.item.status === 'failed' && !row.item.synthetic) ||
    (row.item.kind === 'turn_end' && !calm.has(row.item.stopReason)) ||
    (row.item.kind === 'event' && describe(row.item.event).tone === 'bad'))

/** The keys that step through the feed. */
export const steps: Partial<Record<Action, Step>> = {
  next: { by: 1, fits: any },
  previous: { by: -1, fits: any },
  next_tool: { by: 1, fits: tool, what: t`tool calls` },
  previous_tool: { by: -1, fits: tool, what: t`tool calls` },
  next_error: { by: 1, fits: error, what: t`errors` },
  previous_error: { by: -1, fits: error, what: t`errors` },
  next_diff: { by: 1, fits: diff, what: t`changes` },
  previous_diff: { by: -1, fits: diff, what: t`changes` },
  next_prompt: { by: 1, fits: prompt, what: t`prompts` },
  previous_prompt: { by: -1, fits: prompt, what: t`prompts` },
}

/** Returns the index of the row a step leads to; -1 if there is none. */
export function stepFrom(rows: readonly Row[], at: number, { by, fits }: Step): number {
  let to = at
  do to += by
  while (to >= 0 && to < rows.length && !fits(rows[to]!))
  return to < rows.length ? to : -1
}
