import { expect, test } from 'vitest'
import { numbers } from '../src/ui/settings/numbers'

const none = {
  interrupted: {},
  resumed: {},
  dismissed: 0,
  superseded: 0,
  succeeded: 0,
  failed: 0,
  median_ms: 0,
}

test('the numbers of resumes are added up over phases and ways', () => {
  const counts = {
    ...none,
    interrupted: { streaming_llm: 4, executing_tools: 2 },
    resumed: { streaming_llm: { server: 2, local: 1 }, executing_tools: { server: 1 } },
    succeeded: 2,
    failed: 1,
    median_ms: 250_000,
  }
  expect(numbers(counts)).toEqual([
    ['Interrupted turns', '6'],
    ['Resumed', '4'],
    ['Resumed successfully', '2 of 3 (66 %)'],
    ['Time until resumed', '4 min (median)'],
  ])
})

test('there is no rate and no median before the first resume', () => {
  expect(numbers(none)).toEqual([
    ['Interrupted turns', '0'],
    ['Resumed', '0'],
  ])
})
