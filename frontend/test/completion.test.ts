import { expect, test } from 'vitest'
import { Completion, type Offered } from '../src/ui/session/completion.svelte'
import { mentions } from '../src/ui/session/mentions'
import { strangeNames } from './support/strangenames'
import type { SessionInfo } from '../src/wire/gen'

test('commands are offered for typed text, not for a restored draft', () => {
  const completion = new Completion(
    () => '/',
    () => [{ name: 'plan' }],
    () => Promise.resolve([]),
    () => {},
  )
  expect(completion.commands).toEqual([])
  completion.changed('/')
  expect(completion.commands).toEqual([{ name: '/plan', about: '', text: '/plan' }])
})

test('only the newest @ is answered', async () => {
  const answers: ((found: Offered[]) => void)[] = []
  const completion = new Completion(
    () => 'see @ab',
    () => [],
    () => new Promise((answer) => answers.push(answer)),
    () => {},
  )
  completion.changed('see @a')
  completion.changed('see @ab')
  const one = (name: string) => [{ name, about: '', text: name }]
  answers[1]!(one('new'))
  answers[0]!(one('old'))
  await Promise.resolve()
  await Promise.resolve()
  expect(completion.commands.map((c) => c.name)).toEqual(['new'])
  completion.changed('mail ann@example')
  expect(answers.length, 'an @ within a word names nothing').toBe(2)
})

test('files come before sessions, a path with a space is quoted, and sessions need no hub', async () => {
  const sessions = [{ session_id: 's2', name: 'Fix a bug' }] as SessionInfo[]
  const hub = (paths: string[] | Error) => ({
    files: () => {
      if (paths instanceof Error) return Promise.reject(paths)
      return Promise.resolve({ complete: () => Promise.resolve(paths) } as never)
    },
  })
  const { signal } = new AbortController()
  expect((await mentions(hub(['src/a b.ts']), 's1', sessions, 'b', signal)).map((m) => m.text)).toEqual([
    '@"src/a b.ts" ',
    '@session:s2 ',
  ])
  expect((await mentions(hub(new Error('offline')), 's1', sessions, 'bug', signal)).length).toBe(1)
})

test('a file of a strange name is named so that it can be read again', async () => {
  const path = (text: string) =>
    text.startsWith('@"') ? (JSON.parse(text.slice(1)) as string) : text.slice(1, text.search(/\s|$/))
  for (const name of strangeNames) {
    const hub = { files: () => Promise.resolve({ complete: () => Promise.resolve([name]) } as never) }
    const [named] = await mentions(hub, 's1', [], '', new AbortController().signal)
    expect(path(named!.text)).toBe(name)
    expect(named!.text.slice(0, -1), 'a control character').not.toMatch(/[\0-\x1f]/)
  }
})
