import { afterAll, describe, expect, test } from 'vitest'
import { mostGrowth, run, summary, tracks, wakesInRound, type Outcome } from './rig/matrix.ts'

// The sample of 24 wakes has every pair of sleep, fault and moment. With ABIDE_SOAK the lanes go through all
// combinations until there were over 1,000 wakes.
const whole = process.env['ABIDE_SOAK'] !== undefined
const rounds = whole ? Math.ceil(1000 / wakesInRound) : 1

describe('for every network fault while a page sleeps, and every state of its session', () => {
  const outcomes: Outcome[] = []
  const began = Date.now()
  afterAll(() => console.log(summary(outcomes, Date.now() - began)))

  test.concurrent.each(tracks(whole))(
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
