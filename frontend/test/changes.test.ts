import { expect, test } from 'vitest'
import { byFile } from '../src/ui/review/changes'

const edit = (seq: number, path: string, before: string, after: string) => ({
  seq,
  change: { path, before, after },
})

test('edits of a file are one change, and each of its lines has the event that wrote it', () => {
  const [file] = byFile([
    edit(3, 'a', 'one\ntwo\nthree\n', 'one\n2\nthree\n'),
    edit(9, 'a', 'one\n2\nthree\n', 'zero\none\n2\nthree\nfour\n'),
  ])
  const { before, after, wrote } = file!.pieces[0]!
  expect([before, after]).toEqual(['one\ntwo\nthree\n', 'zero\none\n2\nthree\nfour\n'])
  expect(wrote).toEqual([9, 0, 3, 0, 9])
})

test('an edit of a part of a file is merged where that part is found, and else is a separate piece', () => {
  const [file] = byFile([
    edit(3, 'a', '', 'one\ntwo\n'),
    edit(4, 'a', 'two', 'TWO'),
    edit(5, 'a', 'elsewhere', 'there'),
  ])
  expect(file!.pieces.map((p) => p.after)).toEqual(['one\nTWO\n', 'there'])
  expect(file!.pieces[0]!.wrote).toEqual([3, 4])
})

test('an edit that was undone is no change', () => {
  expect(byFile([edit(1, 'a', 'x\n', 'y\n'), edit(2, 'a', 'y\n', 'x\n')])[0]!.pieces).toEqual([])
})
