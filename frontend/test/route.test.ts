// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { fileAddress } from '../src/state/files'
import { parseRoute } from '../src/ui/router.svelte'
import { strangeNames } from './support/strangenames'

test.each([
  ['12', 12],
  ['1', 1],
  ['9007199254740991', 9007199254740991],
  ...['0', '-5', '1.5', 'abc', '12x', '', '1e99', '9007199254740992', 'NaN', '٣'].map((seq) => [seq, null]),
] as [string, number | null][])('an address with ?seq=%s names %s', (seq, named) => {
  expect(parseRoute('/s/20260221-a', `?seq=${seq}`)).toEqual({
    screen: 'session',
    id: '20260221-a',
    seq: named,
  })
  expect(parseRoute('/s/20260221-a/plain', `?page=${seq}`)).toMatchObject({ screen: 'plain', page: named })
})

test('an address of files contains the path unchanged', () => {
  for (const path of ['a b/ü%?&#/x.md', ...strangeNames]) {
    const { pathname, search, hash } = new URL(fileAddress('20260221-a', path), 'http://hub.example')
    expect(parseRoute(pathname, search)).toEqual({ screen: 'files', id: '20260221-a', path })
    expect(hash).toBe('')
  }
  expect(parseRoute('/s/20260221-a/files', '')).toMatchObject({ screen: 'files', path: '' })
})

test('the attempts at the task of a job have an address', () => {
  expect(parseRoute('/jobs', '')).toEqual({ screen: 'jobs' })
  expect(parseRoute('/jobs/20260221-a', '')).toEqual({ screen: 'attempts', id: '20260221-a' })
  expect(parseRoute('/jobs/20260221-a/b', '')).toEqual({ screen: 'unknown' })
})
