import { expect, it } from 'vitest'
import { isFile, toolView } from '../src/state/tool'
import type { ToolItem } from '../src/state/items'
import { mediaOf } from '../src/ui/feed/media'

const data = btoa('<svg onload="x()"/>')

it('a file within its event shows its type, its size, and why it is not displayed', () => {
  expect(mediaOf({ type: 'image', mimeType: 'image/svg+xml', data })).toMatchObject({
    name: 'image.svg',
    type: 'image/svg+xml',
    bytes: 19,
    why: expect.stringContaining('scripts'),
  })
  expect(mediaOf({ type: 'audio', mimeType: 'audio/wav', data })).toMatchObject({
    name: 'audio.wav',
    bytes: 19,
  })
})

it('a file too large for its event is its blob', () => {
  const blob = { sha256: 'ab', bytes: 9_000_000, media_type: 'audio/wav' }
  expect(mediaOf({ type: 'audio', mimeType: 'audio/wav', data: { blob, head: 'UklG' } })).toMatchObject({
    bytes: 9_000_000,
    sha256: 'ab',
    data: null,
  })
  const picture = mediaOf({ type: 'image', mimeType: 'image/png', data: { blob, head: 'iVBO' } })
  expect(picture?.why).toContain('Too large')
})

it('a resource is named by the last part of its address, without its folder', () => {
  const resource = { uri: 'file:///a/b\\..\\evil.exe', mimeType: 'application/x-msdownload', blob: data }
  expect(mediaOf({ type: 'resource', resource })?.name).toBe('evil.exe')
  expect(mediaOf({ type: 'resource', name: '../../a\\b', resource })?.name).toBe('.._.._a_b')
})

it.each([
  ['a picture that can hold scripts', { type: 'image', mimeType: 'image/svg+xml', data }],
  ['a picture too large for its event', { type: 'image', mimeType: 'image/png', data: { blob: {} } }],
  ['a sound', { type: 'audio', mimeType: 'audio/wav', data }],
  ['the bytes of a resource', { type: 'resource', resource: { uri: 'a', blob: data } }],
])('%s is a file of its call, and nothing else of it', (_, content) => {
  const png = { type: 'image', mimeType: 'image/png', data }
  const tool = {
    kind: 'tool',
    title: 't',
    content: [content, png].map((c) => ({ type: 'content', content: c })),
  }
  const { files, images, output } = toolView(tool as unknown as ToolItem)
  expect({ files, images, output }).toEqual({
    files: [content],
    images: [{ mediaType: 'image/png', data }],
    output: '',
  })
})

it('data that is not base64 is shown as damaged, and text is no file', () => {
  expect(mediaOf({ type: 'audio', mimeType: 'audio/wav', data: '%%' })).toMatchObject({
    bytes: null,
    data: null,
  })
  expect(mediaOf({ type: 'resource', resource: { uri: 'a', text: 'x' } })).toBeNull()
  expect(mediaOf(null)).toBeNull()
})

const large = { blob: { sha256: 'ab', bytes: 5_000_000, media_type: 'text/plain' }, head: 'how it begins' }

it.each([
  ['content', { content: [{ type: 'content', content: { type: 'text', text: large } }] }],
  ['the raw output', { rawOutput: { output: large, exitCode: 0 } }],
  ['nothing but the raw output', { rawOutput: large }],
])('an output too large for its event, in %s, shows its beginning and is a file', (_, of) => {
  const tool = toolView({ kind: 'tool', title: 'cat big', ...of } as unknown as ToolItem)
  expect(tool.output).toBe('how it begins')
  expect(tool.files.map(mediaOf)).toMatchObject([
    { name: 'output.txt', sha256: 'ab', bytes: 5_000_000, why: expect.stringContaining('Too large') },
  ])
})

it('a picture that no browser can show is shown as damaged, and its data can be downloaded', () => {
  const picture = mediaOf({ type: 'image', mimeType: 'image/png', data: btoa('no picture') })
  expect(picture).toMatchObject({
    name: 'image.png',
    bytes: 10,
    why: 'Damaged: the content is not a picture.',
  })
  expect(new TextDecoder().decode(picture!.data!)).toBe('no picture')
})

it.each([undefined, '', '%%', 7, { a: 1 }])('a picture whose data is %j is shown as damaged', (data) => {
  const picture = { type: 'image', mimeType: 'image/png', data }
  expect(isFile(picture)).toBe(true)
  expect(mediaOf(picture)).toMatchObject({
    name: 'image.png',
    data: null,
    why: expect.stringContaining('Damaged'),
  })
})
