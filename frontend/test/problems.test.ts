import { describe, expect, it } from 'vitest'
import { initial, reduce, type AppState } from '../src/state/app'
import type { Message } from '../src/state/message'
import type { OutboxItem } from '../src/state/outboxitem'
import { eventsFrame, loadedFrame, Script, sessionId } from './support/script'

/** A session with a problem of this answer, which another client's answer preceded, and a problem of another kind. */
function late(): AppState {
  const messages: Message[] = [
    { kind: 'open', sessionId },
    { kind: 'frame', frame: loadedFrame(script.events.slice(0, 1)) },
    { kind: 'problem', sessionId, text: 'Not connected.' },
    { kind: 'problem', sessionId, request: 'q1', text: 'Phone answered first: your answer did not count.' },
  ]
  return messages.reduce(reduce, initial)
}

const script = new Script()
  .add('user_prompt', { prompt_id: 'p', text: 'go' })
  .say('m', 'on it')
  .add('permission_request', { permission_id: 'q2', title: 'Next', options: [], tool_call: {} })
const texts = (state: AppState) => state.problems.map((p) => p.text)
const both = ['Not connected.', 'Phone answered first: your answer did not count.']
const item: OutboxItem = {
  id: 'p2',
  sessionId,
  kind: 'prompt',
  text: 'next',
  createdAt: 0,
  status: 'queued',
}

describe('the notice that an answer did not count', () => {
  it('is shown until the next question', () => {
    let state = reduce(late(), { kind: 'frame', frame: eventsFrame(script.events.slice(1, 2)) })
    expect(texts(state)).toEqual(both)
    state = reduce(state, { kind: 'frame', frame: eventsFrame(script.events.slice(2)) })
    expect(texts(state)).toEqual(['Not connected.'])
  })

  it('is shown until the person’s next action in the session', () => {
    const elsewhere = reduce(late(), { kind: 'outbox', item: { ...item, sessionId: 'other' } })
    expect(texts(elsewhere)).toEqual(both)
    expect(texts(reduce(late(), { kind: 'outbox', item }))).toEqual(['Not connected.'])
  })

  it('is not removed by an update of an earlier action', () => {
    const before = reduce(reduce(initial, { kind: 'open', sessionId }), { kind: 'outbox', item })
    const told = reduce(before, { kind: 'problem', sessionId, request: 'q1', text: 'late' })
    expect(texts(reduce(told, { kind: 'outbox', item: { ...item, status: 'sending' } }))).toEqual(['late'])
  })
})
