// @vitest-environment happy-dom
// A finger on a row of the list: it draws the row aside, scrolls, or stays for the menu.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { swipes } from '../src/ui/list/swipe'

let row: HTMLElement
let stop: () => void
const acts: string[] = []
const shows: (string | null)[] = []
let menus = 0

beforeEach(() => {
  vi.useFakeTimers()
  document.body.innerHTML = '<div><div data-row="one"><a href="/s/one">One</a></div></div>'
  row = document.querySelector<HTMLElement>('[data-row]')!
  row.addEventListener('contextmenu', () => menus++)
  shows.length = 0
  stop = swipes(
    row.parentElement!,
    (id, way) => acts.push(`${id} ${way}`),
    (_, way) => shows.push(way),
  )
})
afterEach(() => {
  stop()
  vi.useRealTimers()
  acts.length = menus = 0
})

function touch(type: string, x = 0, y = 0): Event {
  const event = new Event(type, { bubbles: true, cancelable: true })
  const touches = type === 'touchend' ? [] : [{ clientX: x, clientY: y }]
  Object.defineProperty(event, 'touches', { value: touches })
  row.firstElementChild!.dispatchEvent(event)
  return event
}
const own = () => {
  const event = new MouseEvent('contextmenu', { bubbles: true, cancelable: true })
  row.dispatchEvent(event)
  return event
}

test('a finger that stays opens the menu once, and its release follows no link', () => {
  touch('touchstart')
  touch('touchmove', 3, 4)
  vi.advanceTimersByTime(499)
  expect(menus).toBe(0)
  vi.advanceTimersByTime(1)
  expect(menus).toBe(1)
  expect(own().defaultPrevented, 'the event of a browser that has one, too').toBe(true)
  expect(menus).toBe(1)
  expect(touch('touchend').defaultPrevented).toBe(true)
  own()
  expect(menus, 'a right click after it').toBe(2)
})

test('where the browser opens it first, it is not opened again', () => {
  touch('touchstart')
  own()
  vi.advanceTimersByTime(1000)
  expect(menus).toBe(1)
  expect(touch('touchend').defaultPrevented).toBe(true)
})

test.each([
  ['a tap', []],
  ['a scroll', [['touchmove', 0, 11]]],
  ['a scroll that the browser took', [['touchcancel']]],
  ['a draw', [['touchmove', 40, 0]]],
] as const)('%s opens no menu', (_, moves) => {
  touch('touchstart')
  for (const [type, x, y] of moves) touch(type, x, y)
  if (moves.length === 0) expect(touch('touchend').defaultPrevented).toBe(false)
  vi.advanceTimersByTime(1000)
  expect(menus).toBe(0)
})

test('a row that is drawn far is acted on', () => {
  touch('touchstart')
  touch('touchmove', -40, 2)
  touch('touchmove', -120, 2)
  touch('touchend')
  expect(acts).toEqual(['one left'])
})

test('while it is drawn it shows what letting go does, each way', () => {
  touch('touchstart')
  touch('touchmove', -20, 0)
  touch('touchmove', -60, 0)
  touch('touchmove', 40, 0)
  touch('touchend')
  expect(shows).toEqual(['left', 'right', null])
})
