import type { TurnLine } from '../../state/overview'
import { duration, short } from '../../text/time'

/** What became of a turn, in one line. */
export function summary(turn: TurnLine): string {
  const files = (turn.files?.length ?? 0) + (turn.files_left_out ?? 0)
  const count = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`
  return [
    files > 0 ? `${count(files, 'file')} +${turn.added ?? 0} −${turn.removed ?? 0}` : '',
    turn.commands ? count(turn.commands, 'command') : '',
    turn.commands_failed ? `${turn.commands_failed} failed` : '',
    turn.questions ? count(turn.questions, 'question') : '',
    turn.tokens ? `${short(turn.tokens)} tokens` : '',
    turn.end_seq === undefined ? 'going on' : turn.ms !== undefined ? duration(turn.ms) : '',
    turn.interrupted ? 'interrupted' : '',
    turn.error ? 'failed' : '',
  ]
    .filter(Boolean)
    .join(' · ')
}
