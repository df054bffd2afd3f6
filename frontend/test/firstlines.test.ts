// The lines of a file that a change begins at: known, or none are shown.
import { expect, test } from 'vitest'
import { readTool } from '../src/state/tool'

const path = '/w/a.go'
const diff = (oldText: string | null, newText: string) => ({ type: 'diff', path, oldText, newText })
const first = (content: unknown[], locations: { path: string; line?: number }[], rawInput: unknown = {}) =>
  readTool({ title: 'Edit', content, locations, rawInput }).changes.map((c) => c.first)

test('a quoted part of a file has the line that the agent gives, else none', () => {
  const asked = { file_path: path, old_string: 'b\nc', new_string: 'x' }
  expect(first([diff('b\nc', 'x')], [{ path }], asked)).toEqual([null])
  expect(first([diff('b\nc', 'x')], [{ path, line: 41 }], asked)).toEqual([{ before: 41, after: 41 }])
  expect(first([diff('b\nc', 'x')], [{ path: '/w/other.go', line: 41 }], asked)).toEqual([null])
})

test('parts in order have their lines on both sides', () => {
  const parts = [diff('b', 'b\nb2\nb3'), diff('k\nl', 'k')]
  const lines = [
    { path, line: 2 },
    { path, line: 13 },
  ]
  expect(first(parts, lines)).toEqual([
    { before: 2, after: 2 },
    { before: 11, after: 13 },
  ])
  expect(first(parts, lines.slice(1)), 'one line is not for both').toEqual([null, null])
})

test('a whole file and a new one are counted from 1', () => {
  expect(first([diff('a\nb\n', 'a\nx\n')], [{ path }], { oldString: 'b', newString: 'x' })).toEqual([
    undefined,
  ])
  expect(first([diff(null, 'a\n')], [{ path }], { content: 'a\n' })).toEqual([undefined])
})
