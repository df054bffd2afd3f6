import { expect, test } from 'vitest'
import { editorAddress, isHost, type FilePlace } from '../src/text/editor'

const place = (over: Partial<FilePlace> = {}): FilePlace => ({
  path: 'src/a b.ts',
  workspace: '/home/ada/garden/app/',
  root: '/home/ada/garden',
  line: 12,
  ...over,
})

test('each editor is given the file and the line', () => {
  const at = (editor: string, host = '', over: Partial<FilePlace> = {}) =>
    editorAddress(`${editor} ${host}`.trim(), place(over))
  expect(at('vscode')).toBe('vscode://file/home/ada/garden/app/src/a%20b.ts:12')
  expect(at('cursor', '', { line: undefined })).toBe('cursor://file/home/ada/garden/app/src/a%20b.ts')
  expect(at('vscode', 'ada@box.lan')).toBe(
    'vscode://vscode-remote/ssh-remote+ada@box.lan/home/ada/garden/app/src/a%20b.ts:12:1',
  )
  expect(at('cursor', 'box', { line: undefined })).toBe(
    'cursor://vscode-remote/ssh-remote+box/home/ada/garden/app/src/a%20b.ts',
  )
  expect(at('zed')).toBe('zed://file/home/ada/garden/app/src/a%20b.ts:12')
  expect(at('zed', 'ada@box')).toBe('zed://ssh/ada@box/home/ada/garden/app/src/a%20b.ts')
  expect(at('goland')).toBe('jetbrains://goland/navigate/reference?project=garden&path=app/src/a%20b.ts:12')
})

test('a path is only ever a path', () => {
  const odd = place({ path: "/home/ada/garden/#?&:%/ü'\n.ts", line: undefined })
  expect(editorAddress('vscode', odd)).toBe("vscode://file/home/ada/garden/%23%3F%26%3A%25/%C3%BC'%0A.ts")
  expect(editorAddress('idea', odd)).toBe(
    "jetbrains://idea/navigate/reference?project=garden&path=%23%3F%26%3A%25/%C3%BC'%0A.ts",
  )
})

test('what an editor cannot open has no link', () => {
  expect(editorAddress('', place())).toBeNull()
  expect(editorAddress('toString', place())).toBeNull()
  expect(editorAddress('javascript:alert(1)//', place())).toBeNull()
  expect(editorAddress('goland box', place())).toBeNull()
  expect(editorAddress('goland', place({ path: '/etc/hosts' }))).toBeNull()
  expect(editorAddress('goland', place({ path: '/home/ada/gardener/a' }))).toBeNull()
  expect(editorAddress('vscode', place({ workspace: '' }))).toBeNull()
  for (const host of ['-oProxyCommand=x', 'a/b', 'a:22', '', 'a@b@c', 'a@-b']) {
    expect(isHost(host)).toBe(false)
    if (host !== '') expect(editorAddress(`vscode ${host}`, place())).toBeNull()
  }
  expect(isHost('a b')).toBe(false)
  expect(isHost('box')).toBe(true)
})
