import { bytes, short, stretch } from '../../text/time'
import type { JobInfo } from '../../wire/gen'

/** How far a job's limits are filled; `ran` is how long it ran, in ms. */
export function limitsOf({ input, usage }: JobInfo, ran: number): string[] {
  const { wall_s = 0, round_s, rounds, tokens, cost, events, output_bytes } = input?.caps ?? {}
  const seconds = wall_s * 1000
  return [
    wall_s ? t`${stretch(ran)} of ${stretch(seconds)}` : '',
    round_s ? t`silent for at most ${stretch(round_s * 1000)}` : '',
    rounds ? t`${usage?.rounds ?? 0} of ${rounds} rounds` : '',
    tokens ? t`${short(usage?.tokens ?? 0)} of ${short(tokens)} tokens` : '',
    cost ? t`${(usage?.cost ?? 0).toFixed(2)} of ${cost.toFixed(2)} in cost` : '',
    events ? t`${short(usage?.events ?? 0)} of ${short(events)} events` : '',
    output_bytes ? t`${bytes(usage?.output_bytes ?? 0)} of ${bytes(output_bytes)} of output` : '',
  ].filter(Boolean)
}
