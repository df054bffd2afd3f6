import { afterAll, describe, expect, test } from 'vitest'
import { faults, Lane, moments } from './rig/lane.ts'
import type { Sleep } from './rig/sleep.ts'

const sleeps: Sleep[] = ['hidden', 'freeze', 'stop']
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
      for (let round = 0; round < rounds; round++) {
        for (const fault of faults) {
          for (const moment of moments) {
            // A network that comes back after the page does costs a whole dial.
            const late = round % 2 === 1
            await lane.cycle(fault, moment, late).catch((error: Error) => {
              failures.push(`round ${round}, ${fault}, ${moment}: ${error.message}`)
            })
          }
        }
      }
      expect(failures).toEqual([])
    },
    rounds * 240_000,
  )
})
