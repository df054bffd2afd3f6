import { afterAll, describe, expect, test } from 'vitest'
import { mostGrowth, run, summary, tracks, wakesInRound, type Outcome } from './rig/matrix.ts'

/** Times that each lane goes through all of its cells; with ABIDE_SOAK, over 1,000 wakes in all. */
const rounds = process.env['ABIDE_SOAK'] === undefined ? 1 : Math.ceil(1000 / wakesInRound)

describe('whatever happens to the network while a page sleeps, and whatever it was at', () => {
  const outcomes: Outcome[] = []
  const began = Date.now()
  afterAll(() => console.log(summary(outcomes, Date.now() - began)))

  test.concurrent.each(tracks(rounds > 1 ? 2 : 1))(
    'it wakes from $sleep after $faults to exactly the log, its prompt run once',
    async (track) => {
      const outcome = await run(track, rounds, rounds > 1)
      outcomes.push(outcome)
      expect(outcome.failures).toEqual([])
      expect(outcome.sockets).toBeLessThanOrEqual(2)
      if (rounds > 1) expect(outcome.growth, 'what the wakes left in the heap').toBeLessThan(mostGrowth)
    },
    rounds * 900_000,
  )
})
