// The matrix of wakes: every kind of sleep, with every network fault, at every moment of a session.
import { faults, Lane, moments, type Fault, type Moment } from './lane.ts'
import type { Sleep } from './sleep.ts'

const sleeps: Sleep[] = ['hidden', 'freeze', 'bfcache', 'stop']

/** The part of the matrix that one lane goes through. */
export interface Track {
  sleep: Sleep
  faults: readonly Fault[]
  /** Whether every fault is combined with every moment, or with one moment only. */
  whole: boolean
}

/**
 * The moments to combine with a fault. In the sample it is one. It is chosen so that every fault meets every moment
 * over all sleeps, and every sleep has every moment.
 */
function momentsOf({ sleep, whole }: Track, fault: Fault): readonly Moment[] {
  if (whole) return moments
  return [moments[(sleeps.indexOf(sleep) + faults.indexOf(fault)) % moments.length]!]
}

/** One track for each sleep, or two in the whole matrix, each with half the faults: a sleeping lane needs no processor. */
export function tracks(whole: boolean): Track[] {
  const lanesEach = whole ? 2 : 1
  const half = faults.length / lanesEach
  return sleeps.flatMap((sleep) =>
    Array.from({ length: lanesEach }, (_, i) => ({
      sleep,
      faults: faults.slice(i * half, (i + 1) * half),
      whole,
    })),
  )
}

/** The number of wakes in one round over all tracks of the whole matrix. */
export const wakesInRound = sleeps.length * faults.length * moments.length

/** The bytes by which a page's heap may grow over all its wakes. */
export const mostGrowth = 5 * 1024 * 1024

/** The result of one lane. */
export interface Outcome {
  sleep: Sleep
  /** The number of wakes by fault and by moment. */
  cells: Map<string, number>
  wakes: number
  failures: string[]
  /** The most sockets at once, and the bytes by which the heap grew after the first cycles; NaN if not measured. */
  sockets: number
  growth: number
}

/**
 * Takes a lane through its track `rounds` times. In every second round the network returns after the
 * page has woken. With `weigh` the heap is measured twice: after two cycles per moment, when the app
 * has loaded its lazy parts, and at the end.
 */
export async function run(track: Track, rounds: number, weigh: boolean): Promise<Outcome> {
  const lane = await Lane.start(track.sleep)
  const cells = new Map<string, number>()
  const failures: string[] = []
  let before = NaN
  try {
    for (let round = 0; round < rounds; round++) {
      for (const fault of track.faults) {
        for (const moment of momentsOf(track, fault)) {
          // If the network returns after the page, the first connection attempt fails.
          const late = round % 2 === 1
          for (const part of [fault, moment]) cells.set(part, (cells.get(part) ?? 0) + 1)
          await lane.cycle(fault, moment, late).catch(async (error: Error) => {
            const cell = `round ${round}, ${track.sleep}, ${fault}, ${moment}${late ? ', late' : ''}`
            failures.push(`${cell}: ${error.message}`)
            // Printed at once, so that an interrupted run has shown its failures too.
            console.error(`${cell}: ${await lane.evidence(error)}`)
          })
          if (weigh && lane.cycles === 2 * moments.length) before = await lane.kept()
        }
      }
      if (rounds > 1) console.log(`${track.sleep}: ${lane.cycles} wakes, ${failures.length} failed`)
    }
    const { most } = await lane.screen.watched()
    const growth = weigh ? (await lane.kept()) - before : NaN
    return { sleep: track.sleep, cells, wakes: lane.cycles, failures, sockets: most, growth }
  } finally {
    await lane.stop()
  }
}

/** All outcomes in one line: wakes by kind, failures, the most sockets and the most growth. */
export function summary(outcomes: Outcome[], ms: number): string {
  const by = new Map<string, number>()
  const add = (kind: string, n: number) => by.set(kind, (by.get(kind) ?? 0) + n)
  for (const { sleep, wakes } of outcomes) add(sleep, wakes)
  for (const { cells } of outcomes) for (const [part, n] of cells) add(part, n)
  const sum = (of: (o: Outcome) => number) => outcomes.reduce((n, o) => n + of(o), 0)
  const weighed = outcomes.map((o) => o.growth).filter((n) => !Number.isNaN(n))
  return [
    `${sum((o) => o.wakes)} wakes in ${(ms / 60_000).toFixed(1)} min`,
    ...[...by].map(([kind, n]) => `${kind} ${n}`),
    `${sum((o) => o.failures.length)} failed`,
    `at most ${Math.max(...outcomes.map((o) => o.sockets))} sockets`,
    weighed.length ? `a heap grew by ${Math.max(...weighed)} bytes at most` : 'heaps not weighed',
  ].join(', ')
}
