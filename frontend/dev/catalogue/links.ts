// The states of the connection, and a hub with another version than the page.
import { held, link, opened, path, prompt, prompting, turn, whole } from './frames'
import type { State } from './state'

const lost = (over: Parameters<typeof link>[0]) => [...held(whole), link(over)]

export const links: State[] = [
  { name: 'catching up', path, messages: lost({ phase: 'checking' }), does: [{ wait: 500 }] },
  {
    name: 'no connection',
    path,
    messages: lost({ phase: 'waiting', since: 0, retryAt: Date.now() + 9_000 }),
    does: [{ wait: 5_100 }],
  },
  {
    name: 'no connection, the agent at work',
    path,
    messages: [
      ...held(turn(30), prompting),
      link({ phase: 'waiting', since: 0, retryAt: Date.now() + 9_000 }),
    ],
    does: [{ wait: 1_500 }],
  },
  { name: 'offline', path, messages: [...lost({ phase: 'offline' }), prompt({ status: 'queued' })] },
  { name: 'forbidden', path, messages: lost({ phase: 'refused', refusal: 'forbidden' }) },
  {
    name: 'hub too new',
    path,
    messages: [...lost({ phase: 'refused', refusal: 'version' }), prompt({ status: 'queued' })],
    does: [{ write: '[data-composer]', words: 'A draft that stays' }],
  },
  {
    name: 'hub updated',
    path,
    messages: [...held(whole), { kind: 'skew' }],
    does: [{ write: '[data-composer]', words: 'A draft that stays' }],
  },
  { name: 'list, hub updated', path: '/', messages: [...opened, { kind: 'skew' }] },
]
