/** One line of the table: a measured figure and its budget. */
export interface Row {
  what: string
  goal: number
  figure: number
  unit: string
  /** The goal is a minimum, not a maximum. */
  least?: boolean
}

export function median(values: number[]): number {
  return quantile(values, 0.5)
}

/** The q-quantile of the values. */
export function quantile(values: number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN
}

/** The table as text. A figure that is NaN, because the measurement failed, is SHORT. */
export function table(rows: Row[], not: string[]): string {
  const lines = rows.map((r) => {
    const digits = r.figure < 10 ? 2 : 0
    const kept = r.least ? r.figure >= r.goal : r.figure <= r.goal
    const verdict = kept ? 'ok' : 'SHORT'
    return [
      r.what.padEnd(64),
      `${r.goal} ${r.unit}`.padStart(10),
      `${r.figure.toFixed(digits)} ${r.unit}`.padStart(12),
      verdict,
    ].join('  ')
  })
  return [...lines, ...not.map((n) => `not measured: ${n}`)].join('\n')
}
