import { expect, test } from 'vitest'
import { ApiError } from '../src/net/api'
import { Outbox } from '../src/net/outbox'
import { Requests } from '../src/net/requests'
import type { OutboxFile, OutboxItem } from '../src/state/outboxitem'
import type { Message } from '../src/state/message'
import type { Attachment, ClientMessage } from '../src/wire/gen'
import { acceptFiles, fileMax, filesMax } from '../src/ui/session/chosen'
import { MemoryStorage } from './support/memorystorage'
import { until } from './support/until'

const file = (name: string): OutboxFile => ({ name, blob: new Blob([name], { type: 'text/plain' }) })
const stored = (name: string): Attachment => ({ name, media_type: 'text/plain', bytes: 1, sha256: name })

function outbox(attach: (sessionId: string, file: OutboxFile) => Promise<Attachment>) {
  const sent: ClientMessage[] = []
  const shown: OutboxItem[] = []
  const send = (message: ClientMessage) => (sent.push(message), true)
  const dispatch = (message: Message) => void (message.kind === 'outbox' && shown.push(message.item))
  const storage = new MemoryStorage()
  const box = new Outbox(storage, new Requests(), dispatch, send, attach)
  const prompt = (id: string, files?: OutboxFile[]) =>
    box.add({ id, sessionId: 's1', kind: 'prompt', text: id, files })
  const prompts = () => sent.flatMap((m) => (m.type === 'prompt' ? [m] : []))
  return { box, storage, shown, prompt, prompts }
}

test('a prompt is sent once the hub has all its files, and later prompts wait for it', async () => {
  const release: (() => void)[] = []
  const { prompt, prompts } = outbox(
    (_, f) => new Promise((done) => release.push(() => done(stored(f.name)))),
  )
  await prompt('p1', [file('a'), file('b')])
  await prompt('p2')
  expect(prompts()).toEqual([])
  release[0]!()
  await until(() => expect(release).toHaveLength(2))
  expect(prompts()).toEqual([])
  release[1]!()
  await until(() => expect(prompts().map((p) => p.prompt_id)).toEqual(['p1', 'p2']))
  expect(prompts()[0]?.attachments?.map((a) => a.sha256)).toEqual(['a', 'b'])
})

test('the prompt of a dead tab is sent with its files by the next tab', async () => {
  const first = outbox(() => new Promise(() => {}))
  await first.prompt('p1', [file('a')])
  const { box, prompts, storage } = outbox(async (_, f) => stored(f.name))
  for (const item of await first.storage.all()) await storage.put(item)
  await box.load()
  await until(() => expect(prompts()[0]?.attachments).toEqual([stored('a')]))
})

test('a file the hub refuses fails the prompt with a reason and keeps it for a retry', async () => {
  let refuse = true
  const { box, shown, prompt, prompts } = outbox(async (_, f) => {
    if (refuse) throw new ApiError(413, 'too_large', 'too large')
    return stored(f.name)
  })
  await prompt('p1', [file('a')])
  await until(() => expect(shown.at(-1)?.status).toBe('failed'))
  expect(shown.at(-1)?.problem).toContain('too large')
  refuse = false
  box.retry('p1')
  await until(() => expect(prompts()).toHaveLength(1))
})

test.each([
  [0, 'out of reach'],
  [429, 'with too many'],
  [503, 'that cannot now'],
])('a hub that answers %i, %s, is asked again', async (status) => {
  let away = true
  const { box, shown, prompt, prompts } = outbox(async (_, f) => {
    if (away) throw new ApiError(status, 'unreachable', 'away')
    return stored(f.name)
  })
  await prompt('p1', [file('a')])
  await new Promise((done) => setTimeout(done))
  expect(shown.at(-1)?.status).toBe('queued')
  away = false
  box.resend()
  await until(() => expect(prompts()).toHaveLength(1))
})

test('files too large, empty or too many are left out with a reason', () => {
  const big = new File([new Uint8Array(fileMax + 1)], 'big.bin')
  expect(acceptFiles([], [big])).toEqual({
    files: [],
    problem: expect.stringContaining('big.bin'),
  })
  expect(acceptFiles([], [new File([], 'none')]).problem).toContain('empty')
  const full = Array.from({ length: filesMax }, (_, i) => file(String(i)))
  expect(acceptFiles(full, [new File(['x'], 'more')]).files).toHaveLength(filesMax)
  expect(acceptFiles(full, [new File(['x'], 'more'), new File(['x'], 'last')]).problem).toBe(
    `A prompt takes ${filesMax} files; left out are 2: more, last.`,
  )
})
