import { expect, it } from 'vitest'
import { turnSpoken } from '../src/state/announce'
import { after, before, emptyFeed } from '../src/state/feed'
import { toldIn } from '../src/state/select'
import type { AbideEvent } from '../src/wire/gen'
import { Script } from './support/script'

const modes = [
  { id: 'ask', name: 'Ask' },
  { id: 'auto', name: 'Auto' },
]
const option = (currentValue: string) => ({
  id: 'how',
  category: 'mode',
  type: 'select',
  currentValue,
  options: [{ group: 'all', options: modes.map((m) => ({ value: m.id, name: m.name })) }],
})
const fold = (events: AbideEvent[]) => after(emptyFeed(events[0]!.seq - 1), events)
const agent = (script: Script) => {
  const { mode, config } = toldIn(fold(script.events).latest)
  return [mode?.mode_id, (config?.options as { currentValue: string }[])[0]!.currentValue]
}

it('the mode and the option of category mode say what was told last', () => {
  const script = new Script()
    .add('mode', { mode_id: 'ask', modes })
    .add('config', { options: [option('ask')] })
  expect(agent(script)).toEqual(['ask', 'ask'])
  script.add('config', { options: [option('auto')] })
  expect(agent(script)).toEqual(['auto', 'auto'])
  script.add('mode', { mode_id: 'ask' })
  expect(agent(script)).toEqual(['ask', 'ask'])
  script.add('mode', { mode_id: 'elsewhere' })
  expect(agent(script), 'the option does not offer it').toEqual(['elsewhere', 'auto'])
})

it('an agent whose modes are only an option has them as its modes', () => {
  const script = new Script().add('config', { options: [option('auto')] })
  expect(agent(script)).toEqual(['auto', 'auto'])
})

it('a turn that waits for a choice of settings is called so, whichever page has it', () => {
  const script = new Script()
    .add('user_prompt', { prompt_id: 'p', text: 'go' })
    .add('turn_interrupted', {
      interruption_id: 'i',
      prompt_id: 'p',
      turn: 1,
      reason: 'paused',
      phase: 'streaming_llm',
      checkpoint: { from_seq: 1, to_seq: 1 },
    })
    .add('turn_end', { prompt_id: 'p', stop_reason: 'interrupted' })
  expect(turnSpoken(fold(script.events), 0, String)).toBe('Waiting for your choice: the turn has not begun.')
  const joined = before(fold(script.events.slice(0, 2)), fold(script.events.slice(2)))
  expect(joined).toEqual(fold(script.events))
})
