// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { newSession, type SessionState } from '../src/state/session'
import { QueueEdit } from '../src/ui/session/queueedit.svelte'
import { stateFrame } from './support/script'

beforeEach(() => sessionStorage.clear())

const item = (text: string) => ({ prompt_id: 'q', text, queued_at: '' })
const queued = (text: string): SessionState => ({
  ...newSession('s'),
  live: stateFrame({ queue: [item(text)] }),
})

test('saving an unchanged text ends the edit, and sends nothing', () => {
  const edit = new QueueEdit('s')
  edit.begin(item('A'))
  expect(edit.save('A')).toBe(false)
  expect(edit.id).toBeNull()
})

test('text written during a save stays, and saving it ends the edit, also if it is the original text', () => {
  const edit = new QueueEdit('s')
  edit.begin(item('A'))
  edit.write('B')
  expect(edit.save('A')).toBe(true)
  edit.write('Bc')
  edit.look(queued('B'))
  expect(edit.text).toBe('Bc')
  edit.write('A')
  expect(edit.save('B')).toBe(true)
  edit.look(queued('B'))
  expect(edit.id).toBe('q')
  edit.look(queued('A'))
  expect(edit.id).toBeNull()
})

test('a change that is undone while it is being saved is saved again', () => {
  const edit = new QueueEdit('s')
  edit.begin(item('A'))
  edit.write('B')
  edit.save('A')
  edit.write('A')
  expect(edit.save('A')).toBe(true)
})

test('half a character, which the hub cannot keep, does not hold the edit open', () => {
  const edit = new QueueEdit('s')
  edit.begin(item('A'))
  edit.write('B\ud83d')
  edit.save('A')
  edit.look(queued('B\ufffd'))
  expect(edit.id).toBeNull()
})
