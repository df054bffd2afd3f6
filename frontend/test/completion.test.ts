import { expect, test } from 'vitest'
import { Completion } from '../src/ui/session/completion.svelte'

test('commands are offered for what is written, not for a draft that was there', () => {
  const completion = new Completion(
    () => '/',
    () => [{ name: 'plan' }],
    () => {},
  )
  expect(completion.commands).toEqual([])
  completion.changed()
  expect(completion.commands).toEqual([{ name: 'plan' }])
})
