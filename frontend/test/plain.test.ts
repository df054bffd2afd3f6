import { expect, it } from 'vitest'
import { pieces } from '../src/state/search'
import { markup, plain } from '../src/text/plain'
import { describe as say } from '../src/ui/feed/describe'
import type { AbideEvent } from '../src/wire/gen'

it.each([
  ['### H3', 'H3'],
  ['**Done.** The `notes` are in [CHANGES.md](/src/CHANGES.md).', 'Done. The notes are in CHANGES.md.'],
  ['- *first* point', 'first point'],
  ['> > said before', 'said before'],
  ['| Name | Size | | --- | :-: | | a.go | 3 |', 'Name | Size |  | a.go | 3'],
  ['```go\nfmt.Println()\n```', 'fmt.Println()'],
  ['- [x] the tests pass', 'the tests pass'],
  ['- [ ] publish it', 'publish it'],
  ['~~Not this~~ but that', 'Not this but that'],
  ['See <https://docs.example/a>.', 'See https://docs.example/a.'],
  ['1. **Do not** forget, **and this is cut here…', '1. Do not forget, and this is cut here…'],
  ['Run `make build and then…', 'Run make build and then…'],
  ['It is in [the notes](/src/very/long…', 'It is in the notes…'],
])('%s is shown as what it says', (markdown, text) => expect(plain(markdown)).toBe(text))

it.each([
  'rm -rf *.o && ls *.c',
  '__init__ of snake_case',
  'issue # 3, 2 * 3 * 4',
  'a | b',
  'x[0] (first)',
  'C#',
  'def f(*args, **kwargs)',
  '2 ** 3 ** 4 and so on…',
  '~/.bashrc and ~/bin',
  'a < b > c',
  'list [x] of it',
])('%s has no markup and stays as it is', (text) => expect(plain(text)).toBe(text))

it('a snippet keeps its match if the markup around it is dropped', () => {
  const hit = { session_id: 's', name: '', seq: 1, time: '', type: 'agent_message' as const }
  const snippet = '## Retry **loops** wait'
  const at = snippet.indexOf('loops')
  expect(pieces({ ...hit, snippet, ranges: [[at, at + 5]] }, markup(snippet))).toEqual([
    { text: 'Retry ', match: false },
    { text: 'loops', match: true },
    { text: ' wait', match: false },
  ])
  // The match itself is shown, even if it is markup.
  expect(pieces({ ...hit, snippet, ranges: [[0, 2]] }, markup(snippet))[0]).toEqual({
    text: '##',
    match: true,
  })
})

it('an agent’s message that the hub does not know is explained, with the agent’s name for it', () => {
  const note = (data: object) =>
    say({ seq: 1, time: '', type: 'note', data: { method: 'session/update', ...data } } as AbideEvent).text
  expect(note({ raw: { update: { sessionUpdate: 'hologram' } } })).toContain('Unsupported update “hologram”')
  expect(note({ raw: { sessionUpdate: 'hologram' } })).toContain('“hologram”')
  expect(note({ raw: 3 })).toContain('“session/update”')
  expect(note({ text: 'said', raw: {} })).toBe('said')
  // Known methods that are turned off.
  expect(note({ method: 'fs/write_text_file', raw: {} })).toBe(
    'The agent was told that “fs/write_text_file” is off. Some agents then do it by themselves. “fs: true” in the agent’s configuration turns it on.',
  )
  expect(note({ method: 'terminal/create', raw: {} })).toContain('“terminal: true”')
})
