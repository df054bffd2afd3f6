import { afterAll, describe, expect, test } from 'vitest'
import { faults, Lane, moments } from './rig/lane.ts'
import type { Sleep } from './rig/sleep.ts'

const sleeps: Sleep[] = ['hidden', 'freeze', 'bfcache', 'stop']
/** What a page may keep of all its wakes together. */
const mostGrowth = 5 * 1024 * 1024
/** Times that each lane goes through all of its cells; with ABIDE_SOAK, over 1,000 cycles in all. */
const rounds =
  process.env['ABIDE_SOAK'] === undefined
    ? 1
    : Math.ceil(1000 / (sleeps.length * faults.length * moments.length))

describe('whatever happens to the network while a page sleeps, and whatever it was at', () => {
  const lanes: Lane[] = []
  afterAll(async () => {
    for (const lane of lanes) await lane.stop()
  }, 60_000)

  test.concurrent.each(sleeps)(
    'it wakes from %s to exactly the log, its prompt run once',
    async (sleep) => {
      const lane = await Lane.start(sleep)
      lanes.push(lane)
      const failures: string[] = []
      let before = NaN
      for (let round = 0; round < rounds; round++) {
        for (const fault of faults) {
          for (const moment of moments) {
            // A network that comes back after the page does costs a whole dial.
            const late = round % 2 === 1
            await lane.cycle(fault, moment, late).catch(async (error: Error) => {
              const cell = `round ${round}, ${sleep}, ${fault}, ${moment}${late ? ', late' : ''}`
              failures.push(`${cell}: ${error.message}`)
              // Said at once: a run that is broken off has shown its failures too.
              console.error(`${cell}: ${await lane.evidence(error)}`)
            })
          }
        }
        // The first round loads what the app loads when first needed.
        if (round === 0) before = rounds > 1 ? await lane.kept() : NaN
        else {
          const growth = (await lane.kept()) - before
          const { most } = await lane.screen.watched()
          console.log(
            `${sleep}: ${lane.cycles} wakes, ${failures.length} failed, ${most} sockets, heap ${Math.round(growth)} bytes`,
          )
          expect(growth, 'what the wakes left in the heap').toBeLessThan(mostGrowth)
        }
      }
      expect(failures).toEqual([])
    },
    rounds * 240_000,
  )
})
