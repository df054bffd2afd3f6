import { expect, it } from 'vitest'
import { treesOf, type Branch } from '../src/ui/list/tree'
import type { SessionInfo } from '../src/wire/gen'

const session = (session_id: string, of: { fork?: string; job?: string } = {}) =>
  ({
    session_id,
    ...(of.fork && { forked_from: { session_id: of.fork, seq: 1 } }),
    ...(of.job && { job: { delegated_by: of.job } }),
  }) as unknown as SessionInfo

/** "a(b,c(d))" */
const drawn = (all: Branch[]): string =>
  all.map((b) => b.session.session_id + (b.below.length ? `(${drawn(b.below)})` : '')).join()

it('forks and delegated jobs stand below their parents, in the order of the list', () => {
  const all = [
    session('c', { fork: 'b' }),
    session('x'),
    session('b', { job: 'a' }),
    session('a'),
    session('d', { fork: 'a' }),
  ]
  expect(drawn(treesOf(all))).toBe('a(b(c),d),x')
})

it('a session whose parent is not listed stands for itself', () => {
  expect(drawn(treesOf([session('b', { fork: 'gone' }), session('a')]))).toBe('b,a')
})

it('a circle loses no session', () => {
  const ids = (all: Branch[]): string[] => all.flatMap((b) => [b.session.session_id, ...ids(b.below)])
  const all = treesOf([session('a', { fork: 'b' }), session('b', { fork: 'a' }), session('c', { fork: 'c' })])
  expect(ids(all).sort()).toEqual(['a', 'b', 'c'])
})
