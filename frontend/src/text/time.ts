/** "now", "5 min", "3 h", "Tue", "12 Feb": how long ago, for lists. */
export function ago(time: string, now: number): string {
  const then = Date.parse(time)
  const seconds = Math.max(0, (now - then) / 1000)
  if (Number.isNaN(seconds)) return ''
  if (seconds < 45) return 'now'
  if (seconds < 45 * 60) return t`${Math.round(seconds / 60)} min`
  if (seconds < 22 * 3600) return `${Math.round(seconds / 3600)} h`
  const date = new Date(then)
  if (seconds < 6 * 86400) return date.toLocaleDateString(undefined, { weekday: 'short' })
  return date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}

/** The time of day. */
export function clock(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.valueOf())
    ? ''
    : date.toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' })
}

/** "0.8 s", "42 s", "3:05", "1 h 12 min". */
export function duration(ms: number): string {
  const s = ms / 1000
  if (!(s >= 0)) return ''
  if (s < 9.95) return `${s.toFixed(1)} s`
  if (s < 60) return `${Math.round(s)} s`
  if (s < 3600) return `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, '0')}`
  return t`${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
}

/** "40 s", "42 min", "1 h 12 min": how long something was, where seconds say no more. */
export function stretch(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  if (!(minutes >= 1)) return duration(ms)
  return minutes < 60 ? t`${minutes} min` : t`${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** "12.4k": a count short enough for a chip. */
export function short(n: number): string {
  if (n < 1000) return String(n)
  if (n < 999_500) return `${(n / 1000).toFixed(n < 9_950 ? 1 : 0)}k`
  return `${(n / 1_000_000).toFixed(1)}M`
}

/** "560 KB". */
export function bytes(n: number): string {
  if (n < 1024) return `${n} B`
  if (n < 1024 * 1024) return t`${Math.round(n / 1024)} KB`
  if (n < 1024 ** 3) return t`${(n / 1024 / 1024).toFixed(1)} MB`
  return t`${(n / 1024 ** 3).toFixed(1)} GB`
}
