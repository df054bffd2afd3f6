import { counted } from './counted'

/** Each unit of the hub's durations, in seconds, the largest first. */
const units = () =>
  [
    [86_400, t`Every day`, t`day`, t`days`],
    [3600, t`Every hour`, t`hour`, t`hours`],
    [60, t`Every minute`, t`minute`, t`minutes`],
    [1, t`Every second`, t`second`, t`seconds`],
  ] as const

/**
 * When a schedule's jobs start, in words: "Every 30 minutes", "Every weekday at 9:00 (Europe/Berlin)".
 * Other rules of cron are shown as they are written.
 */
export function repeatsSaid(rule: { every?: string; cron?: string; zone?: string }): string {
  if (rule.every) return everySaid(rule.every)
  const cron = rule.cron ?? ''
  const said = cronSaid(cron.trim().split(/\s+/)) ?? t`Cron: ${cron}`
  return `${said} (${rule.zone || t`the hub’s time`})`
}

function everySaid(every: string): string {
  const parts = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/
    .exec(every)
    ?.slice(1)
    .map((n) => Number(n ?? 0))
  if (!parts) return t`Every ${every}`
  const seconds = parts[0]! * 3600 + parts[1]! * 60 + parts[2]!
  for (const [size, alone, name, names] of units())
    if (seconds > 0 && seconds % size === 0)
      return seconds === size ? alone : t`Every ${counted(seconds / size, name, names)}`
  return t`Every ${every}`
}

function cronSaid([minute, hour, date, month, day]: string[]): string | undefined {
  if (!/^\d+$/.test(minute ?? '') || date !== '*' || month !== '*') return
  if (hour === '*' && day === '*') return t`Every hour at minute ${Number(minute)}`
  if (!/^\d+$/.test(hour ?? '')) return
  const time = `${Number(hour)}:${minute!.padStart(2, '0')}`
  if (day === '*') return t`Every day at ${time}`
  if (day === '1-5') return t`Every weekday at ${time}`
  if (!/^[0-6]$/.test(day ?? '')) return
  const name = new Date(2026, 1, 1 + Number(day)).toLocaleDateString(undefined, { weekday: 'long' }) // 1 February is a Sunday
  return t`Every ${name} at ${time}`
}
