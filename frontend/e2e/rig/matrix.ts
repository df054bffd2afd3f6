// The matrix of wakes: every sleep, with every fault of the network, at every moment of a session.
import { faults, Lane, moments, type Fault, type Moment } from './lane.ts'
import type { Sleep } from './sleep.ts'

const sleeps: Sleep[] = ['hidden', 'freeze', 'bfcache', 'stop']

/** The steps of one lane. */
export interface Track {
  sleep: Sleep
  faults: readonly Fault[]
  /** Whether every fault comes at every moment, or each at one. */
  whole: boolean
}

/**
 * The moments at which a fault comes to a sleep. Of a sample it is one, so chosen that over all sleeps every fault
 * comes at every moment, and in every sleep each moment comes.
 */
function momentsOf({ sleep, whole }: Track, fault: Fault): readonly Moment[] {
  if (whole) return moments
  return [moments[(sleeps.indexOf(sleep) + faults.indexOf(fault)) % moments.length]!]
}

/** One lane for each sleep; of the whole matrix two that share its faults, as a lane that sleeps needs no processor. */
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

/** Wakes in one round over all tracks of the whole matrix. */
export const wakesInRound = sleeps.length * faults.length * moments.length

/** The bytes that a page may keep of all its wakes together. */
export const mostGrowth = 5 * 1024 * 1024

/** What became of one lane. */
export interface Outcome {
  sleep: Sleep
  /** How often each fault and each moment came. */
  cells: Map<string, number>
  wakes: number
  failures: string[]
  /** The most sockets at once, and by how many bytes the heap grew after the first faults; NaN if not asked. */
  sockets: number
  growth: number
}

/**
 * Takes a lane through its track so many times. Every other round the network comes back after the
 * page does. With `weigh` the heap is measured: once all moments have come twice, when the app has
 * loaded its lazy parts, and at the end.
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
          // A network that comes back after the page does costs a whole dial.
          const late = round % 2 === 1
          for (const part of [fault, moment]) cells.set(part, (cells.get(part) ?? 0) + 1)
          await lane.cycle(fault, moment, late).catch(async (error: Error) => {
            const cell = `round ${round}, ${track.sleep}, ${fault}, ${moment}${late ? ', late' : ''}`
            failures.push(`${cell}: ${error.message}`)
            // Said at once: a run that is broken off has shown its failures too.
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

/** All outcomes in a line: the wakes by kind, what failed, the most sockets and the most growth. */
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
