import { expect, it } from 'vitest'
import { initial, reduce } from '../src/state/app'
import { turnSpoken } from '../src/state/announce'
import { spoken } from '../src/text/spoken'
import { loadedFrame, Script, sessionId } from './support/script'

it('a turn is read out in words, without the marks around them', () => {
  const answer =
    '## Done\n\nI changed **nothing** in `a.go`:\n\n| step | state |\n|:-----|------:|\n| one | *good* |\n\n- [link](https://x.invalid)'
  const script = new Script().add('user_prompt', { prompt_id: 'p', text: 'go' }).say('m', answer)
  script.add('turn_end', { prompt_id: 'p', stop_reason: 'end_turn' })
  let state = reduce(initial, { kind: 'open', sessionId })
  state = reduce(state, { kind: 'frame', frame: loadedFrame(script.events) })
  const words = turnSpoken(state.sessions.get(sessionId)!.feed, 0, spoken)
  expect(words).toBe('Turn ended. Done I changed nothing in a.go: step, state. one, good. link')
})

it('text without markup is read out unchanged, and of a long answer only its start', () => {
  expect(spoken('a || b, 2 * 3 * 4, snake_case')).toBe('a || b, 2 * 3 * 4, snake_case')
  const script = new Script().add('user_prompt', { prompt_id: 'p', text: 'go' })
  script.say('m', '**x** '.repeat(50_000)).add('turn_end', { prompt_id: 'p', stop_reason: 'end_turn' })
  let state = reduce(initial, { kind: 'open', sessionId })
  state = reduce(state, { kind: 'frame', frame: loadedFrame(script.events) })
  const words = turnSpoken(state.sessions.get(sessionId)!.feed, 0, spoken)!
  expect(words).toMatch(/^Turn ended\. x x x .*x ?…$/)
  expect(words.length).toBeLessThan(620)
})
