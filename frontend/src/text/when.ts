import { clock } from './time'

/** "at 14:30", "on 12 Feb at 14:30": a moment to come, or one that was. */
export function whenSaid(time: string, now: number): string {
  const date = new Date(time)
  if (Number.isNaN(date.valueOf())) return ''
  const day = date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
  const today = date.toDateString() === new Date(now).toDateString()
  return today ? t`at ${clock(time)}` : t`on ${day} at ${clock(time)}`
}
