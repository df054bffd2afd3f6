import { ago, stretch } from './time'

/** Since when a machine is away: "Away", "Away for 42 min", "Away since Tue". */
export function awayWords(since: string, now: number): string {
  const ms = now - Date.parse(since)
  if (!(ms > 60_000)) return t`Away`
  return ms < 22 * 3600_000 ? t`Away for ${stretch(ms)}` : t`Away since ${ago(since, now)}`
}
