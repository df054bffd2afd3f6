import type { UsageRow } from '../wire/gen'

/** The last n days until now, oldest first, as the hub names days. */
export function lastDays(n: number, now: Date): string[] {
  const two = (part: number) => String(part).padStart(2, '0')
  return Array.from({ length: n }, (_, i) => {
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (n - 1 - i))
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`
  })
}

/** The tokens of each day. Days of rows that are not among these come first or last. */
export function tokensByDay(days: readonly string[], rows: readonly UsageRow[]): [string, number][] {
  const tokens = new Map(days.map((day) => [day, 0]))
  for (const { day, used } of rows) if (day) tokens.set(day, used.tokens)
  return [...tokens].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The marks of an axis from 0 to at least a number, at most five, in steps of 1, 2 or 5 times a power of 10. */
export function marksUpTo(most: number): number[] {
  let step = 1
  for (let i = 0; step * 4 < most; i++) step *= i % 3 === 1 ? 2.5 : 2
  return Array.from({ length: Math.max(1, Math.ceil(most / step)) + 1 }, (_, i) => i * step)
}
