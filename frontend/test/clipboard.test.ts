// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from 'vitest'
import { copyText } from '../src/text/clipboard'

afterEach(() => {
  document.body.replaceChildren()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** Installs execCommand, the older way to copy. Returns the texts it copied and the elements their field was in. */
function older(does = true) {
  const copied: { text: string; inside: string }[] = []
  document.execCommand = () => {
    const area = document.querySelector('textarea')!
    const text = area.value.slice(area.selectionStart, area.selectionEnd)
    if (document.activeElement === area) copied.push({ text, inside: area.parentElement!.tagName })
    return does
  }
  return copied
}

test('a text is written to the clipboard, and nothing else is tried', async () => {
  const writeText = vi.fn().mockResolvedValue(undefined)
  vi.stubGlobal('navigator', { clipboard: { writeText } })
  const copied = older()
  expect(await copyText('a')).toBe(true)
  expect([writeText.mock.calls, copied]).toEqual([[['a']], []])
})

test.each([
  ['there is no clipboard, as at a plain-http address', undefined],
  ['a write is refused', { writeText: () => Promise.reject(new Error('refused')) }],
])('where %s, the older command copies it and the focus stays', async (_, clipboard) => {
  vi.stubGlobal('navigator', { clipboard })
  const copied = older()
  const button = document.body.appendChild(document.createElement('button'))
  button.focus()
  expect(await copyText('two\nlines')).toBe(true)
  expect(copied).toEqual([{ text: 'two\nlines', inside: 'BODY' }])
  expect([document.querySelector('textarea'), document.activeElement]).toEqual([null, button])
})

test('with an open modal dialog the text is selected inside it, because outside it cannot be', async () => {
  vi.stubGlobal('navigator', {})
  const copied = older()
  const dialog = document.body.appendChild(document.createElement('dialog'))
  dialog.appendChild(document.createElement('button')).focus()
  await copyText('a')
  expect(copied).toEqual([{ text: 'a', inside: 'DIALOG' }])
})

test('if neither way copies, it returns that', async () => {
  vi.stubGlobal('navigator', {})
  older(false)
  expect(await copyText('a')).toBe(false)
})
