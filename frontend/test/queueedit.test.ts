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

test('saving what the queue has ends the edit, and tells the hub nothing', () => {
  const edit = new QueueEdit('s')
  edit.begin(item('A'))
  expect(edit.save('A')).toBe(false)
  expect(edit.id).toBeNull()
})

test('words written while others are saved stay, and end the edit once they are saved, also as what they were', () => {
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

test('what is taken back while it is on its way to the hub is saved, too', () => {
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
