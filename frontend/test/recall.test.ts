import { expect, it } from 'vitest'
import { after, emptyFeed } from '../src/state/feed'
import { Recall } from '../src/ui/session/recall'
import { Script } from './support/script'

const feed = after(
  emptyFeed(0),
  ['one', 'two', 'two'].reduce(
    (script, text, i) => script.add('user_prompt', { prompt_id: `p${i}`, text }),
    new Script(),
  ).events,
)

it('goes up to older prompts and down again to the empty field, equal ones once', () => {
  const recall = new Recall()
  expect(recall.step('up', '', feed)).toBe('two')
  expect(recall.step('up', 'two', feed)).toBe('one')
  expect(recall.step('up', 'one', feed)).toBeNull()
  expect(recall.step('down', 'one', feed)).toBe('two')
  expect(recall.step('down', 'two', feed)).toBe('')
  expect(recall.step('down', '', feed)).toBeNull()
})

it('does not replace text that the person wrote or changed', () => {
  const recall = new Recall()
  expect(recall.step('up', 'mine', feed)).toBeNull()
  expect(recall.step('up', '', feed)).toBe('two')
  expect(recall.step('up', 'two changed', feed)).toBeNull()
})
