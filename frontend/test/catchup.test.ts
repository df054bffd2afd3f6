import { describe, expect, it } from 'vitest'
import { initial, reduce } from '../src/state/app'
import { catchUp } from '../src/state/catchup'
import { comparer } from '../src/ui/feed/changes.svelte'
import { missedWords } from '../src/ui/session/missed'
import { epoch, loadedFrame, Script, sessionId } from './support/script'

/** A session of three turns with one tool call each, loaded from the seq `first` on, with two questions waiting. */
function loaded(first: number, min_seq = 1) {
  const script = new Script()
  for (const n of [1, 2, 3]) {
    script.add('user_prompt', { prompt_id: `p${n}`, text: 'go' })
    script.add('tool_call', { tool_call_id: `t${n}`, title: 'Runs', status: 'completed' })
    script.add('turn_end', { prompt_id: `p${n}`, stop_reason: 'end_turn' })
  }
  let state = reduce(initial, { kind: 'open', sessionId })
  const page = loadedFrame(script.events.slice(first - 1), { min_seq })
  state = reduce(state, { kind: 'frame', frame: page })
  const live = state.sessions.get(sessionId)!
  return {
    ...live,
    live: {
      type: 'state' as const,
      session_id: sessionId,
      epoch,
      at_seq: 9,
      pending_permissions: ['a', 'b'],
    } as unknown as NonNullable<typeof live.live>,
  }
}

describe('the summary of missed events', () => {
  it('is counted from the events if all of them are loaded', () => {
    const missed = catchUp(loaded(1), { seq: 3, at: 0 })
    expect(missed).toMatchObject({ whole: true, events: 6, turns: 2, toolCalls: 2, questions: 0, first: 4 })
  })

  it('counts every event and waiting question, and the loaded tool calls, if not all events are loaded', () => {
    const missed = catchUp(loaded(7), { seq: 1, at: 0 })
    expect(missed).toMatchObject({ whole: false, events: 8, turns: 1, toolCalls: 1, questions: 2, first: 2 })
  })

  it('counts the events the hub no longer keeps, and begins at the oldest it keeps', () => {
    const missed = catchUp(loaded(7, 7), { seq: 2, at: 0 })
    expect(missed).toMatchObject({ whole: false, events: 7, removed: 4, turns: 1, first: 7 })
    expect(catchUp(loaded(7, 7), { seq: 6, at: 0 })).toMatchObject({ whole: true, removed: 0, first: 7 })
  })

  it('uses the singular and the plural', async () => {
    expect(missedWords(catchUp(loaded(1), { seq: 8, at: 0 }))).toBe('1 turn')
    expect(missedWords(catchUp(loaded(1), { seq: 3, at: 0 }))).toBe('2 turns, 2 tool calls')
    expect(missedWords(catchUp(loaded(7, 7), { seq: 2, at: 0 }))).toBe(
      '1+ turn, 1 tool call, 4 events no longer kept by the hub, 2 questions waiting',
    )
    const change = { path: 'a', before: 'one\n', after: 'two\nthree\n' }
    const missed = { ...catchUp(loaded(1), { seq: 9, at: 0 }), files: [change, { ...change, path: 'b' }] }
    expect(missedWords(missed), 'before what compares them is there').toBe('2 files')
    await comparer.load()
    expect(missedWords(missed)).toBe('2 files (+4 −2)')
  })
})
