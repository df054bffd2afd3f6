import { expect, it } from 'vitest'
import { filesAPI } from '../src/net/files'
import { leaves } from '../src/ui/files/join'
import { until } from './support/until'

it('branches are asked for two at once, and a line that has gone asks for none', async () => {
  const asked: string[] = []
  const answer: ((failed: boolean) => void)[] = []
  const call = <T>(_: string, path: string) =>
    new Promise<T>((resolve, reject) => {
      asked.push(path.split('/')[3]!)
      answer.push((failed) => (failed ? reject(new Error('no git')) : resolve({ branch: 'main' } as T)))
    })
  const { branch } = filesAPI(call, () => Promise.reject(new Error('not asked')))
  const gone = new AbortController()
  const here = new AbortController().signal
  const all = ['a', 'b', 'c', 'd', 'e'].map((id) => branch(id, id === 'c' ? gone.signal : here))
  await until(() => expect(asked).toEqual(['a', 'b']))
  gone.abort()
  answer[0]!(true)
  await expect(all[0]).rejects.toThrow('no git')
  expect(await all[2], 'it has gone').toBeNull()
  await until(() => expect(asked).toEqual(['a', 'b', 'e']))
  answer[1]!(false)
  await until(() => expect(asked).toEqual(['a', 'b', 'e', 'd']))
  answer[2]!(false)
  answer[3]!(false)
  expect(await all[4]).toEqual({ branch: 'main' })
})

it('files that stay behind are told of until that is confirmed and something else is asked', () => {
  expect(leaves('merge', 2, [], [])).toBe(true)
  expect(leaves('merge', 2, [], ['uncommitted']), 'on its way').toBe(true)
  expect(leaves('merge', 2, ['turn'], ['uncommitted'])).toBe(false)
  expect(leaves('push', 0, ['turn', 'uncommitted'], ['uncommitted']), 'as the hub says').toBe(true)
  expect(leaves('merge', 0, ['turn'], [])).toBe(false)
  expect(leaves('update', 2, [], [])).toBe(false)
})
