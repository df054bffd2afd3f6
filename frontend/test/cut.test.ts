import { expect, it } from 'vitest'
import { cutOf } from '../src/state/cut'
import { after, emptyFeed, find } from '../src/state/feed'
import { rowsOf } from '../src/state/rows'
import { stepFrom, steps } from '../src/ui/session/steps'
import type { StopReason } from '../src/wire/gen'
import { Script } from './support/script'

function closed(stop: StopReason, synthetic: boolean) {
  const events = new Script()
    .add('user_prompt', { prompt_id: 'p', text: 'go' })
    .add('tool_call', { tool_call_id: 'c', title: 'Run', status: 'in_progress' } as never)
    .add('tool_call_update', {
      tool_call_id: 'c',
      status: 'failed',
      ...(synthetic && { synthetic }),
    } as never)
    .add('turn_end', { prompt_id: 'p', stop_reason: stop }).events
  const feed = after(emptyFeed(0), events)
  return { feed, call: find(feed, 'tool', 'tool:1:c')! }
}

it.each([
  ['cancelled', 'stopped'],
  ['interrupted', 'stopped'],
  ['hub_restart', 'hub'],
  ['agent_exit', 'agent'],
] as const)('a call the hub closed at the end %s was cut: %s', (stop, cut) => {
  const { feed, call } = closed(stop, true)
  expect(cutOf(feed, call)).toBe(cut)
})

it('a call that its agent ended was not interrupted, however the turn ended', () => {
  const { feed, call } = closed('cancelled', false)
  expect(cutOf(feed, call)).toBeNull()
})

it('the keys to the next error skip a stopped turn and the calls it closed', () => {
  expect(stepFrom(rowsOf(closed('cancelled', true).feed), -1, steps.next_error!)).toBe(-1)
  expect(stepFrom(rowsOf(closed('cancelled', false).feed), -1, steps.next_error!)).toBeGreaterThan(0)
})
