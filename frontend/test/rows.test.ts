import { expect, test } from 'vitest'
import { after, emptyFeed } from '../src/state/feed'
import { rowsOf } from '../src/state/rows'
import type { AbideEvent, AgentExitData, AgentStartedData } from '../src/wire/gen'

const time = '2026-01-01T00:00:00Z'
const exit = (seq: number, reason: string): AbideEvent => ({
  seq,
  time,
  type: 'agent_exit',
  data: { reason } satisfies AgentExitData,
})
const started = (seq: number, data: Partial<AgentStartedData>): AbideEvent => ({
  seq,
  time,
  type: 'agent_started',
  data: { agent: 'demo', pid: 1, ...data },
})
const prompt = (seq: number): AbideEvent => ({
  seq,
  time,
  type: 'user_prompt',
  data: { prompt_id: `p${seq}`, text: 'hi' },
})

function shown(...events: AbideEvent[]): string[] {
  return rowsOf(after(emptyFeed(0), events)).map((r) => r.key)
}

test('sleep and the wake after it are not shown', () => {
  expect(shown(exit(1, 'asleep'), prompt(2), started(3, { resumed: 'resume' }))).toEqual(['prompt:p2'])
})

test('a wake without its memory is shown', () => {
  expect(shown(exit(1, 'asleep'), started(2, { context_lost: true }))).toEqual(['event:2'])
})

test('a crash and the return after it are shown, also after an earlier sleep', () => {
  const slept = [exit(1, 'asleep'), started(2, { resumed: 'load' })]
  expect(shown(...slept, exit(3, 'exited'), started(4, { resumed: 'load' }))).toEqual(['event:3', 'event:4'])
})
