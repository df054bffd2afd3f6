import 'fake-indexeddb/auto'
import { expect, test } from 'vitest'
import { ChosenDB, chosenLayout } from '../src/net/chosenfiles'
import { Database } from '../src/net/db'
import { filesMax } from '../src/ui/session/chosen'
import { Draft } from '../src/ui/session/draft.svelte'
import { until } from './support/until'

const file = (id: string, bytes: number) => ({ id, name: id, blob: new Blob(['x'.repeat(bytes)]) })
const picked = (...names: string[]) => names.map((n) => new File(['x'], n)) as unknown as FileList
const names = (files: readonly { name: string }[]) => files.map((f) => f.name)
let count = 0
const name = () => `chosen-${++count}`
const tab = (db: string, most?: number) => new ChosenDB(new Database(db, chosenLayout), most)

test('files beyond the limit are refused and not kept, and the files of other drafts stay', async () => {
  const chosen = tab(name(), 100)
  expect(await chosen.add('a', [file('1', 60)])).toBe(true)
  expect(await chosen.add('b', [file('2', 60)])).toBe(false)
  expect(await chosen.load('b')).toEqual([])
  expect(names(await chosen.load('a'))).toEqual(['1'])
  expect(await chosen.add('a', [file('1', 60)]), 'it is there already').toBe(true)
  await chosen.remove('a', ['1'])
  expect(await chosen.add('b', [file('4', 100)])).toBe(true)
})

test('the files of deleted sessions are removed, and those of a session whose state is unknown stay', async () => {
  const chosen = tab(name())
  for (const id of ['a', 'b', 'c']) await chosen.add(id, [file(id, 1)])
  await chosen.sweep((id) =>
    id === 'c' ? Promise.reject(new Error('unreachable')) : Promise.resolve(id === 'a'),
  )
  expect(await chosen.load('a')).toEqual([])
  for (const id of ['b', 'c']) expect(await chosen.load(id), id).toHaveLength(1)
})

test('without a database it reports that files are not kept, and removing works', async () => {
  const chosen = new ChosenDB({ use: () => Promise.reject(new Error('none')) } as never)
  expect(await chosen.add('a', [file('1', 1)])).toBe(false)
  await chosen.remove('a', ['1'])
  expect(await chosen.load('a')).toEqual([])
})

test('files that are being sent do not come back with the screen, and stay on the device until they are kept', async () => {
  const db = name()
  const device = tab(db)
  const first = new Draft('s', device)
  first.add(picked('a'))
  await until(async () => expect(await device.load('s')).toHaveLength(1))
  let kept = () => {}
  first.clear(new Promise<void>((done) => (kept = done)))
  expect(await device.load('s')).toEqual([])
  const back = new Draft('s', device)
  back.add(picked('b'))
  await until(async () => expect(names(await device.load('s'))).toEqual(['b']))
  expect(names(back.files)).toEqual(['b'])
  expect(await tab(db).load('s'), 'a page that begins now').toHaveLength(2)
  kept()
  await until(async () => expect(names(await tab(db).load('s'))).toEqual(['b']))
})

test('two tabs share their files, and a file that one sends or removes disappears from the other', async () => {
  const db = name()
  const device = tab(db)
  const a = new Draft('t', device)
  const b = new Draft('t', tab(db))
  const ends = [a.watch(), b.watch()]
  a.add(picked('a', 'c'))
  b.add(picked('b'))
  await until(() => expect([names(a.files).sort(), names(b.files).sort()]).toEqual([abc, abc]))
  a.remove(names(a.files).indexOf('b'))
  await until(() => expect(names(b.files)).toEqual(['a', 'c']))
  a.clear(new Promise(() => {})) // it is on its way
  await until(() => expect(b.files).toEqual([]))
  b.add(picked('d'))
  await until(() => expect(names(a.files)).toEqual(['d']))
  expect([a.filesKept, b.filesKept]).toEqual([true, true])
  for (const end of ends) end()
})
const abc = ['a', 'b', 'c']

test('files the device has no room for stay in the draft, are reported, and are kept once there is room', async () => {
  const device = tab(name(), 1)
  const draft = new Draft('u', device)
  draft.add(picked('a'))
  await until(async () => expect(await device.load('u')).toHaveLength(1))
  draft.add(picked('b'))
  await until(() => expect(draft.filesKept).toBe(false))
  expect(names(draft.files)).toEqual(['a', 'b'])
  draft.remove(0)
  await until(() => expect(draft.filesKept).toBe(true))
  expect(names(await device.load('u'))).toEqual(['b'])
})

test('files given back beyond the limit of a prompt are all there, and the draft says how many must be removed', () => {
  const draft = new Draft('v', tab(name()))
  const given = (n: number) => Array.from({ length: n }, (_, i) => ({ name: `${i}`, blob: new Blob(['x']) }))
  draft.take({ text: '', files: given(15) })
  expect([draft.surplus, draft.noted]).toEqual([0, false])
  draft.take({ text: '', files: given(10) })
  expect([draft.files.length, draft.surplus, draft.noted]).toEqual([25, 25 - filesMax, true])
})
