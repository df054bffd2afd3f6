// @vitest-environment happy-dom
// Rows of the list stay under a finger.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Steady } from '../src/ui/list/steady.svelte'
import type { SessionInfo } from '../src/wire/gen'

let list: HTMLElement
let steady: Steady
let stop: () => void
let clicks: string[]

beforeEach(() => {
  vi.useFakeTimers()
  document.body.innerHTML =
    '<div>' + ['a', 'b', 'c'].map((id) => `<p data-row="${id}"></p>`).join('') + '</div>'
  list = document.querySelector('div')!
  steady = new Steady()
  stop = steady.attach(list)
  clicks = []
  list.addEventListener('click', (e) => clicks.push((e.target as HTMLElement).dataset['row']!))
})
afterEach(() => {
  stop()
  vi.useRealTimers()
})

const shown = (...ids: string[]) =>
  steady.keep(ids.map((session_id) => ({ session_id }) as SessionInfo)).map((s) => s.session_id)
const on = (id: string, type: string) =>
  list.querySelector(`[data-row=${id}]`)!.dispatchEvent(new Event(type, { bubbles: true, cancelable: true }))
const press = (id: string) => {
  on(id, 'pointerdown')
  on(id, 'pointerup')
  on(id, 'click')
}

test('their order stays while a finger is down and a moment after; new ones come last', () => {
  expect(shown('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
  on('a', 'pointerdown')
  expect(shown('n', 'c', 'a', 'b')).toEqual(['a', 'b', 'c', 'n'])
  on('a', 'pointerup')
  vi.advanceTimersByTime(299)
  expect(shown('c', 'a', 'b')).toEqual(['a', 'b', 'c'])
  vi.advanceTimersByTime(1)
  expect(shown('c', 'a', 'b')).toEqual(['c', 'a', 'b'])
})

test('a press on a row that has just moved does nothing, one on a row in its place does, and later each does', () => {
  shown('a', 'b', 'c')
  shown('b', 'a', 'c')
  press('b')
  expect(clicks).toEqual([])
  press('c')
  expect(clicks).toEqual(['c'])
  vi.advanceTimersByTime(300)
  press('b')
  expect(clicks).toEqual(['c', 'b'])
})
