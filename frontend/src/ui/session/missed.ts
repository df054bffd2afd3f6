import type { Summary } from '../../state/catchup'
import { short } from '../../text/time'
import { sumOf } from '../feed/changes.svelte'

/**
 * Describes the missed events: "2 turns, 9 tool calls, 1 question waiting"; events only where
 * nothing else is known.
 */
export function missedWords(missed: Summary): string {
  const files = new Set(missed.files.map((f) => f.path)).size
  const lines = sumOf(missed.files)
  const work = [
    count(missed.turns, t`turn`, t`turns`),
    count(missed.toolCalls, t`tool call`, t`tool calls`),
    files > 0 ? count(files, t`file`, t`files`) + (lines ? ` (+${lines.added} −${lines.removed})` : '') : '',
  ].filter(Boolean)
  if (!missed.whole && work[0]) work[0] = work[0].replace(/^(\S+)/, '$1+')
  return [
    ...(work.length > 0 ? work : [count(missed.events, t`event`, t`events`)]),
    missed.removed > 0 ? t`${short(missed.removed)} events no longer kept by the hub` : '',
    count(missed.questions, t`question waiting`, t`questions waiting`),
  ]
    .filter(Boolean)
    .join(', ')
}

function count(n: number, one: string, many: string): string {
  return n === 0 ? '' : `${short(n)} ${n === 1 ? one : many}`
}
