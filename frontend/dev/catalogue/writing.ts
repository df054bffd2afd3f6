// Drafts, attachments, the outbox and the queue.
import type { OutboxFile } from '../../src/state/outboxitem'
import { Script, sessionId, stateFrame } from '../../test/support/script'
import { agent, frame, goldenFrame, held, path, prompt, prompting, turn, whole } from './frames'
import type { State, Step } from './state'

const png = Uint8Array.from(
  atob(
    'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC',
  ),
  (c) => c.charCodeAt(0),
)
const picture = () => new File([png], 'screen at the crash.png', { type: 'image/png' })
const notes = () => new File(['what I saw\n'.repeat(400)], 'notes.txt', { type: 'text/plain' })
const page = () => new File(['<!doctype html><p>Not found'], 'notes.png', { type: 'image/png' })
const photo = () => new File(['\0\0\0\x18ftypheic\0\0'], 'nothing.png', { type: 'image/heic' })
const empty = () => new File([], 'nothing.log')
const huge = () => new File([new Uint8Array(26 * 1024 * 1024)], 'core.dump')
const files = (stored: number): OutboxFile[] =>
  [picture(), notes()].map((blob, i) => ({
    name: blob.name,
    blob,
    ...(i < stored && {
      stored: { name: blob.name, media_type: blob.type, bytes: blob.size, sha256: `f${i}` },
    }),
  }))

const sent = new Script().add('user_prompt', {
  prompt_id: 'p1',
  text: 'See what I saw.',
  actor: 'Phone',
  attachments: [
    { name: 'core.dump.txt', media_type: 'text/plain', bytes: 182_044, sha256: 'f0' },
    {
      name: 'a name as long as a whole sentence, which nobody would ever type.log',
      media_type: 'text/plain',
      bytes: 12,
      sha256: 'f1',
    },
  ],
})

const commands = {
  commands: [
    { name: 'plan', description: 'Make a plan first' },
    { name: 'review', description: 'Review the changes so far', hint: 'what to look at' },
    { name: 'tidy', description: 'Sort the imports, format, and take out what nobody calls any more' },
  ],
}

const queue = ['Then the docs', 'Then a release', 'And tell the others, in two sentences they will read'].map(
  (text, i) => ({
    prompt_id: `q${i}`,
    text,
    queued_at: new Date().toISOString(),
    ...(i === 1 && { scheduled_at: new Date(Date.now() + 45 * 60_000).toISOString() }),
    ...(i === 0 && {
      attachments: [{ name: 'notes.txt', media_type: 'text/plain', bytes: 4400, sha256: 'f0' }],
    }),
  }),
)
const queued = [
  ...held(turn(30), prompting).slice(0, -1),
  frame(goldenFrame('state')),
  frame(stateFrame({ ...prompting, at_seq: 30, queue })),
]
const unfold = { press: `section[aria-label="${t`Queue`}"] .top` }

const write = (words: string): Step => ({ write: '[data-composer]', words })

export const writing: State[] = [
  { name: 'draft', path, messages: held(whole), does: [write('And the uploader,\nplease.')] },
  {
    name: 'draft, long',
    path,
    messages: held(whole),
    does: [write('One more line to say what should be done.\n'.repeat(30))],
  },
  { name: 'commands', path, messages: held(whole, { commands }), does: [write('/')] },
  { name: 'files, chosen', path, messages: held(whole), does: [{ pick: () => [picture(), notes()] }] },
  {
    name: 'files, not the pictures they seem',
    path,
    messages: held(whole),
    does: [{ pick: () => [picture(), page(), photo()] }],
  },
  {
    name: 'files, too large',
    path,
    messages: held(whole),
    does: [{ pick: () => [notes(), huge(), empty()] }],
  },
  {
    name: 'files, an agent that sees no pictures',
    path,
    messages: held(
      whole,
      agent({ prompt_capabilities: { image: false, audio: false, embedded_context: true } }),
    ),
    does: [{ pick: () => [picture()] }],
  },
  { name: 'files, sending', path, messages: [...held(whole), prompt({ files: files(1) })] },
  {
    name: 'files, not sent',
    path,
    messages: [
      ...held(whole),
      prompt({ files: files(1), status: 'failed', problem: 'notes.txt: the disk of the hub is full' }),
    ],
  },
  { name: 'files, sent', path, messages: held(sent.events) },
  { name: 'queue', path, messages: queued },
  { name: 'queue, opened', path, messages: queued, does: [unfold] },
  {
    name: 'queue, edited',
    path,
    messages: queued,
    does: [unfold, { press: `section[aria-label="${t`Queue`}"] [data-edits]` }],
  },
  {
    name: 'queue, to be cleared',
    path,
    messages: queued,
    does: [
      unfold,
      {
        press: `section[aria-label="${t`Queue`}"] > .quiet, section[aria-label="${t`Queue`}"] > button:last-child`,
      },
    ],
  },
  { name: 'sending', path, messages: [...held(whole), prompt({})] },
  {
    name: 'not sent',
    path,
    messages: [...held(whole), prompt({ status: 'failed', problem: 'the prompt is too large' })],
  },
  {
    name: 'asks before sending',
    path,
    messages: [...held(whole), prompt({ status: 'queued', stale: true })],
  },
  {
    name: 'a problem',
    path,
    messages: [...held(whole), { kind: 'problem', sessionId, text: 'the queue is full: 10 prompts wait' }],
  },
]
