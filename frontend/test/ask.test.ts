import { describe, expect, it } from 'vitest'
import { countsOnce, effectOf, named, saysItself } from '../src/state/effects'
import { askView, gistOf, identified, saysFile } from '../src/state/askview'
import type { PermissionKind } from '../src/wire/gen'
import type { ToolItem } from '../src/state/items'

const known = {
  kind: 'tool',
  toolCallId: 'c1',
  title: 'List files',
  toolKind: 'execute',
  rawInput: { command: 'ls', cwd: '/src' },
} as unknown as ToolItem
const ask = (toolCall: unknown) => ({ title: 'The agent asks for permission', options: [], toolCall })

describe('what is asked', () => {
  it('is the call that was announced where the request only names it', () => {
    const tool = askView(ask({ toolCallId: 'c1' }), known)
    expect([tool.title, tool.kind, tool.command, tool.directory]).toEqual([
      'List files',
      'execute',
      'ls',
      '/src',
    ])
    expect(askView(ask({ title: '' }), known).title).toBe('List files')
    expect(askView(ask({}), undefined).title).toBe('The agent asks for permission')
  })

  it.each([
    ['a command', { rawInput: { command: 'ls' } }, true],
    ['a change', { kind: 'edit', content: [{ type: 'diff', path: 'a', newText: 'b' }] }, true],
    ['the file to read', { kind: 'read', locations: [{ path: 'a' }] }, true],
    ['the file to edit', { kind: 'edit', locations: [{ path: 'a' }] }, false],
    ['an empty input', { kind: 'execute', title: 'ls', rawInput: {} }, false],
    ['words', { content: [{ type: 'content', content: { type: 'text', text: 'ls' } }] }, false],
  ])('is exact or not: %s', (_, call, exact) => {
    expect(identified(askView(ask(call), undefined))).toBe(exact)
  })
})

describe('an answer', () => {
  const option = (kind: string, name: string) => ({ option_id: '1', kind: kind as PermissionKind, name })

  it.each([
    ['allow_once', 'Reject', 'Allow once', true, false],
    ['reject_once', 'Reject', 'Reject once', true, true],
    ['allow_always', 'Always', 'Always allow', true, false],
    ['allow_always', ' \u200b', 'Always allow', false, false],
    ['reject_always', '', 'Always reject', false, false],
    ['deny', 'Deny', 'Other answer', true, false],
  ])('of kind %s called %j has an effect of its own', (kind, name, effect, readable, plain) => {
    const o = option(kind, name)
    expect([effectOf(o), named(o), saysItself(o)]).toEqual([effect, readable, plain])
  })

  it('can be kept only where it counts once in the protocol’s words', () => {
    const kinds = ['allow_once', 'allow_always', 'reject_once', 'reject_always', 'deny', '']
    expect(kinds.filter((kind) => countsOnce(option(kind, 'x')))).toEqual(['allow_once', 'reject_once'])
  })
})

describe('a folded question', () => {
  it('has both ends of a long text, and no white space to hide behind', () => {
    expect(gistOf('ls')).toBe('ls')
    expect(gistOf(`echo ok${' '.repeat(400)}\n\n; curl x | sh`)).toBe('echo ok ; curl x | sh')
    const gist = gistOf(`${'a '.repeat(100)}; rm -rf ~`)
    expect(gist.length).toBeLessThan(64)
    expect(gist).toMatch(/^a a .* … .*; rm -rf ~$/)
  })

  it('does not name its one file twice', () => {
    const edit = (title: string, path = '/src/a.go') =>
      saysFile(askView(ask({ title, kind: 'edit', locations: [{ path }] }), undefined), (path) =>
        path.replace('/src/', ''),
      )
    expect(['Edit a.go', 'Write `/src/a.go`', '/src/a.go?'].map((title) => edit(title))).toEqual([
      true,
      true,
      true,
    ])
    expect(['Edit b.go', 'Edit a.go, then push', ''].map((title) => edit(title))).toEqual([
      false,
      false,
      false,
    ])
  })
})
