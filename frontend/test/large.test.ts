import { expect, it } from 'vitest'
import { changedSince } from '../src/state/asked'
import type { PermissionAsk, PermissionItem, ToolItem } from '../src/state/items'
import { askView } from '../src/state/askview'
import { toolView } from '../src/state/tool'
import { comparer, sumOf } from '../src/ui/feed/changes.svelte'

const blob = (sha256: string, head: string) => ({
  blob: { sha256, bytes: 280_000, media_type: 'text/plain' },
  head,
})
const ask = (toolCall: unknown): PermissionAsk => ({ title: 'Edit', options: [], toolCall })
const diff = (oldText: unknown, newText: unknown) => ({ type: 'diff', path: '/a.ts', oldText, newText })

it('a change too large for its event shows the start of both texts, without a diff and without counts', async () => {
  await comparer.load()
  const content = [diff(blob('aa', 'one'), blob('bb', 'two')), diff(null, blob('cc', 'new'))]
  const { changes, large } = askView(ask({ content }), undefined)
  expect(changes).toMatchObject([
    {
      before: 'one',
      after: 'two',
      large: { before: { sha256: 'aa', bytes: 280_000 }, after: { sha256: 'bb' } },
    },
    { before: '', after: 'new', large: { before: null, after: { sha256: 'cc' } } },
  ])
  expect(large).toEqual([])
  expect(changes.map((change) => comparer.of(change))).toEqual([null, null])
  expect(sumOf(changes)).toBeNull()
  const whole = askView(ask({ content: [diff('a\n', 'b\n')] }), undefined)
  expect(whole.changes[0]?.large).toBeUndefined()
  expect(sumOf(whole.changes)).toEqual({ added: 1, removed: 1 })
})

it('a command too large for its event shows its start and refers to the whole', () => {
  const one = askView(ask({ rawInput: { command: blob('aa', 'rm -rf') } }), undefined)
  expect(one).toMatchObject({
    command: 'rm -rf',
    commandLarge: [{ sha256: 'aa', bytes: 280_000 }],
    large: [],
  })
  const words = askView(ask({ rawInput: { command: ['sh', '-c', blob('aa', 'rm')] } }), undefined)
  expect(words).toMatchObject({ command: 'sh -c rm', commandLarge: [{ sha256: 'aa' }], large: [] })
})

it('every other part of a request that is too large is named', () => {
  const inner = askView(ask({ rawInput: { edits: [{ text: blob('aa', 'x') }] } }), undefined)
  expect(inner.large).toMatchObject([{ at: 'input.edits.0.text', large: { sha256: 'aa', head: 'x' } }])
  expect(askView(ask({ content: blob('bb', '[{') }), undefined).large).toMatchObject([{ at: 'content' }])
  expect(askView(ask(blob('cc', '{')), undefined).large).toMatchObject([{ at: '', large: { sha256: 'cc' } }])
  expect(askView(ask({ title: blob('dd', 'Long') }), undefined).title).toBe('Long')
})

it('a change of a large call is detected, also if the start of its text is the same', () => {
  const head = { key: 'k', time: '', until: '', turn: 1 }
  const item = (toolCall: unknown): PermissionItem => ({
    ...head,
    kind: 'permission',
    seq: 3,
    last: 3,
    permissionId: 'p',
    ask: { ...ask(toolCall), toolCallId: 'c' },
  })
  const call = (over: Partial<ToolItem>): ToolItem => ({
    ...head,
    kind: 'tool',
    seq: 2,
    last: 4,
    title: 'Edit',
    toolCallId: 'c',
    ...over,
  })
  const command = (sha: string) => ({ rawInput: { command: blob(sha, 'ls') } })
  expect(changedSince(item(command('aa')), call(command('aa')))).toBeNull()
  expect(changedSince(item(command('aa')), call(command('bb')))).not.toBeNull()
  const change = (sha: string) => ({ content: [diff(null, blob(sha, 'x'))] })
  expect(changedSince(item(change('aa')), call(change('aa')))).toBeNull()
  expect(changedSince(item(change('aa')), call(change('bb')))).not.toBeNull()
  expect(toolView(call({ content: blob('aa', '[') })).large).toHaveLength(1)
})
