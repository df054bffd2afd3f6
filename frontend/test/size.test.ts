import { expect, it } from 'vitest'
import { exceeds, frameBytes } from '../src/state/size'

it.each(['a', '"', '\n', 'ä', '€', '𝄞', '\u0000', '\ud800'])(
  'a prompt of %j that is not said to exceed fits into a frame, and a little more is said to',
  (unit) => {
    const max = 100_000
    const around = { type: 'prompt', request_id: 'r'.repeat(20), session_id: 's'.repeat(60), when: 'auto' }
    let times = 1
    while (!exceeds(unit.repeat(times + 100), max)) times += 100
    expect(frameBytes({ ...around, text: unit.repeat(times) })).toBeLessThanOrEqual(max)
    expect(frameBytes(unit.repeat(times))).toBeGreaterThan(max - 10_000)
  },
)
