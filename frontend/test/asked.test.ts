import { expect, it } from 'vitest'
import { changedSince } from '../src/state/asked'
import type { PermissionItem, ToolItem } from '../src/state/items'

const head = { key: 'k', time: '', until: '', turn: 1 }
const call = (last: number, over: Partial<ToolItem>): ToolItem => ({
  ...head,
  kind: 'tool',
  seq: 2,
  last,
  toolCallId: 'c1',
  title: 'ls',
  rawInput: { command: 'ls' },
  ...over,
})
const item = (toolCall: unknown): PermissionItem => ({
  ...head,
  kind: 'permission',
  seq: 3,
  last: 3,
  permissionId: 'p',
  ask: { toolCallId: 'c1', title: 'ls', options: [], toolCall },
})
const asked = item({ toolCallId: 'c1', title: 'ls', rawInput: { command: 'ls' } })

it('a call that changed since its permission request is reported as it is now', () => {
  expect(changedSince(asked, call(4, { rawInput: { command: 'rm -rf /' } }))?.command).toBe('rm -rf /')
  const writes = (newText: string) => [{ type: 'diff', path: 'a', oldText: '', newText }]
  const change = item({ toolCallId: 'c1', content: writes('x') })
  expect(changedSince(change, call(4, { content: writes('y') }))?.changes[0]?.after).toBe('y')
  expect(changedSince(change, call(4, { content: writes('x') }))).toBeNull()
  const edit = item({ toolCallId: 'c1', title: 'Read', rawInput: { path: 'a' } })
  expect(changedSince(edit, call(4, { title: 'Read', rawInput: { path: '/etc' } }))).not.toBeNull()
  expect(changedSince(edit, call(4, { title: 'Delete', rawInput: { path: 'a' } }))?.title).toBe('Delete')
  const elsewhere = call(4, { rawInput: { command: 'ls', cwd: '/etc' } })
  expect(changedSince(asked, elsewhere)?.directory).toBe('/etc')
})

it('omitted fields, a new status and updates before the request are not a change', () => {
  expect(changedSince(asked, call(4, { status: 'in_progress' }))).toBeNull()
  expect(changedSince(asked, call(3, { rawInput: { command: 'other' } }))).toBeNull()
  expect(changedSince(asked, undefined)).toBeNull()
  expect(changedSince(asked, call(4, { title: 'Listing', rawInput: undefined }))).toBeNull()
  const change = item({ title: 'ls', content: [{ type: 'diff', path: 'a', oldText: '', newText: 'x' }] })
  expect(changedSince(change, call(4, { content: undefined, rawInput: undefined }))).toBeNull()
})
