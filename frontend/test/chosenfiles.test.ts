import 'fake-indexeddb/auto'
import { expect, test } from 'vitest'
import { ChosenDB, chosenLayout } from '../src/net/chosenfiles'
import { Database } from '../src/net/db'

const file = (name: string, bytes: number) => ({ name, blob: new Blob(['x'.repeat(bytes)]) })
let count = 0
const database = () => new Database(`chosen-${++count}`, chosenLayout)

test('what does not fit is refused and not kept, and what others have stays', async () => {
  const db = database()
  const chosen = new ChosenDB(db, 100)
  expect(await chosen.save('a', [file('1', 60)])).toBe(true)
  expect(await chosen.save('b', [file('2', 60)])).toBe(false)
  expect(await chosen.load('b')).toEqual([])
  expect((await chosen.load('a')).map((f) => f.name)).toEqual(['1'])
  // A draft's own files make room for those that take their place.
  expect(await chosen.save('a', [file('3', 90)])).toBe(true)
  expect(await chosen.save('a', [])).toBe(true)
  expect(await chosen.save('b', [file('4', 100)])).toBe(true)
})

test('only sessions that there are keep theirs', async () => {
  const chosen = new ChosenDB(database())
  await chosen.save('a', [file('1', 1)])
  await chosen.save('b', [file('2', 1)])
  await chosen.keepOnly(new Set(['b']))
  expect(await chosen.load('a')).toEqual([])
  expect(await chosen.load('b')).toHaveLength(1)
})

test('where there is no database it says so, and forgetting works', async () => {
  const broken = { use: () => Promise.reject(new Error('none')) } as never
  const chosen = new ChosenDB(broken)
  expect(await chosen.save('a', [file('1', 1)])).toBe(false)
  expect(await chosen.save('a', [])).toBe(true)
  expect(await chosen.load('a')).toEqual([])
})
