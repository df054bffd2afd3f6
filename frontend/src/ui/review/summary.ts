import type { TurnLine } from '../../wire/gen'
import { duration, short } from '../../text/time'
import { counted } from '../../text/counted'

/** The outcome of a turn, in one line. */
export function summary(turn: TurnLine): string {
  const files = (turn.files?.length ?? 0) + (turn.files_left_out ?? 0)
  return [
    files > 0 ? `${counted(files, t`file`, t`files`)} +${turn.added ?? 0} −${turn.removed ?? 0}` : '',
    turn.commands ? counted(turn.commands, t`command`, t`commands`) : '',
    turn.commands_failed ? t`${turn.commands_failed} failed` : '',
    turn.questions ? counted(turn.questions, t`question`, t`questions`) : '',
    turn.tokens ? t`${short(turn.tokens)} tokens` : '',
    turn.end_seq === undefined ? t`running` : turn.ms !== undefined ? duration(turn.ms) : '',
    turn.interrupted ? t`interrupted` : '',
    turn.error ? t`failed` : '',
  ]
    .filter(Boolean)
    .join(' · ')
}
