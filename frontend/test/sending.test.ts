import { expect, test } from 'vitest'
import { embedMax, isPicture, sentAs } from '../src/ui/session/sending'

const bytes = (text: string) => Uint8Array.from(text, (c) => c.charCodeAt(0))
const file = (name: string, content: string, type = '') => ({
  name,
  blob: new Blob([bytes(content)], { type }),
})

test.each([
  ['PNG', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR', true],
  ['JPEG', '\xff\xd8\xff\xe0\0\x10JFIF', true],
  ['GIF of 1987', 'GIF87a\0\0', true],
  ['GIF of 1989', 'GIF89a\0\0', true],
  ['WebP', 'RIFF\x1a\0\0\0WEBPVP8 ', true],
  ['HEIC', '\0\0\0\x18ftypheic\0\0', false],
  ['AVIF', '\0\0\0\x1cftypavif\0\0', false],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', false],
  ['HTML', '<!doctype html><p>\x89PNG\r\n\x1a\n', false],
  ['WAV', 'RIFF\x1a\0\0\0WAVEfmt ', false],
  ['nothing', '', false],
])('%s is a picture, or not, by its first bytes', async (_, content, picture) => {
  expect(await isPicture(file('a.png', content, 'image/png').blob)).toBe(picture)
})

test('it is said before sending how the agent gets a file', () => {
  const able = {
    name: 'demo',
    status: 'ready',
    prompt_capabilities: { image: true, audio: true, embedded_context: true },
  } as const
  const unable = { ...able, prompt_capabilities: { image: false, audio: false, embedded_context: true } }
  const png = file('a.png', 'x', 'image/png')
  expect(sentAs(png, true, able)).toBe('as an image')
  expect(sentAs(png, true, undefined), 'it has not started').toBe('as an image')
  expect(sentAs(file('noname', 'x'), true, able)).toBe('as an image')
  expect(sentAs(png, true, unable)).toBe('as a file: demo takes no images')
  expect(sentAs(png, false, able)).toBe('as a file: not a PNG, JPEG, GIF or WebP')
  expect(sentAs(file('IMG_2041.HEIC', 'x'), false, able)).toBe('as a file: not a PNG, JPEG, GIF or WebP')
  expect(sentAs(file('a.txt', 'x', 'text/plain'), false, able)).toBe('as a file')
  expect(sentAs(file('a.mp3', 'x', 'audio/mpeg'), false, able)).toBe('as audio')
  expect(sentAs(file('a.mp3', 'x', 'audio/mpeg'), false, unable)).toBe('as a file')
  const large = { name: 'l.png', blob: new Blob([new Uint8Array(embedMax + 1)]) }
  expect(sentAs(large, true, able)).toBe('as a file: larger than 16.0 MB')
})
