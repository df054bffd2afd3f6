// The review and the playback of a session.
import { orderOf } from '../../src/state/overview'
import { idleMs } from '../../src/state/player'
import type { Reviews } from '../../src/state/reviews'
import type { AbideEvent, Comment, Overview, TurnLine } from '../../src/wire/gen'
import { loadedFrame, Script, sessionId } from '../../test/support/script'
import { frame, held, opened, path, turn, whole } from './frames'
import { log } from './plain'
import type { State } from './state'

/** The hub's summary of the one turn that the events are. */
const turnLine = (events: readonly AbideEvent[]): TurnLine => ({
  turn: 1,
  seq: 1,
  end_seq: events.length - 2,
  at: events[0]!.time,
  ms: 754_000,
  prompt: 'Make the retries spread out.',
  actor: 'owner',
  files: [{ path: '/home/dev/src/ferry/retry.go', added: 13, removed: 3 }],
  added: 13,
  removed: 3,
  tools: 6,
  commands: 1,
  commands_failed: 1,
  questions: 1,
  tokens: 12_431,
})

/** What a turn without files or tools has. */
const empty = {
  prompt: '',
  files: [],
  added: 0,
  removed: 0,
  tools: 0,
  commands: 0,
  commands_failed: 0,
  questions: 0,
}

const overview = (events: readonly AbideEvent[]): Overview => ({
  epoch: loadedFrame([]).epoch,
  min_seq: 1,
  at_seq: events.length,
  from: events[0]!.time,
  to: events.at(-1)!.time,
  time: { bucket_ms: 1000, events: events.map((_, i) => (i * 7) % 5) },
  order: orderOf(events, idleMs),
  marks: (['prompt', 'edit', 'command', 'question', 'error', 'interruption'] as const).map((kind, i) => ({
    seq: 1 + Math.floor((i * events.length) / 6),
    kind,
    turn: 1,
  })),
  turns: [
    turnLine(events),
    {
      ...empty,
      turn: 2,
      seq: events.length - 1,
      end_seq: events.length - 1,
      at: events.at(-1)!.time,
      interrupted: true,
    },
    {
      ...empty,
      compared: true,
      turn: 3,
      seq: events.length,
      end_seq: events.length,
      at: events.at(-1)!.time,
      error: 'the model is overloaded',
    },
  ],
  turns_left_out: 4,
})

const comments: Comment[] = [
  {
    comment_id: 'c1',
    from_seq: 12,
    to_seq: 18,
    text: 'Why not a constant? \u202e',
    by: 'Phone',
    at: new Date(Date.now() - 7_200_000).toISOString(),
    resolved: false,
  },
  {
    comment_id: 'c3',
    from_seq: 12,
    to_seq: 12,
    path: 'src/retry.go',
    line: 41,
    side: 'new',
    quote: '\treturn min(n, most)',
    text: 'Is `most` ever 0?',
    by: 'Chrome on Linux',
    at: new Date(Date.now() - 600_000).toISOString(),
    resolved: false,
  },
  { comment_id: 'c2', from_seq: 2, to_seq: 2, text: 'Good.', by: '', at: whole[0]!.time, resolved: true },
]
const unreachable = () => Promise.reject(new Error('The hub cannot be reached.'))

const hub =
  (events: AbideEvent[], over: Partial<Reviews> = {}) =>
  () => ({
    ...log(events)(),
    overview: async () => overview(events),
    search: async () => ({
      hits: [2, 12].map((seq) => ({
        session_id: sessionId,
        name: '',
        seq,
        type: 'agent_message',
        time: whole[0]!.time,
        snippet: 'retries',
      })),
      searched: 1,
      sessions: 1,
      sessions_left: 0,
      done: true,
    }),
    review: async () =>
      ({
        comments: async () => ({ version: 1, comments }),
        preview: async () => ({ events: 40, secrets: 1, paths: 12, images: 0, thoughts: 3, outputs: 5 }),
        ...over,
      }) as Reviews,
  })

const screen = (screen: 'review' | 'play', name: string, does: State['does'] = [], over = hub(whole)) => ({
  name: `${screen === 'play' ? 'playback' : 'review'}${name}`,
  path: `${path}/${screen}`,
  messages: opened,
  hub: over as State['hub'],
  does,
})
const tab = (n: number) => ({ press: `[role=tab]:nth-child(${n})` })
const taking = { press: 'main.screen header > button:nth-last-of-type(2)' }

const said = new Script()
  .add('user_prompt', { prompt_id: 'p1', text: 'Make the retries spread out.' })
  .say('m1', 'The retries are spread out.')
  .add('turn_end', { prompt_id: 'p1', stop_reason: 'end_turn' }).events
const here = { ...comments[0]!, from_seq: 2, to_seq: 2, quote: 'The retries are spread out.' }

export const again: State[] = [
  {
    name: 'session, a comment in its place',
    path,
    messages: [
      ...held(said),
      frame({ type: 'comments', session_id: sessionId, version: 1, count: 1, open: 1 }),
    ],
    hub: hub(said, { comments: async () => ({ version: 1, comments: [here] }) }),
  },
  screen('review', ''),
  screen('review', ', the panel closed', [{ press: 'main.screen header [aria-pressed=true]' }]),
  screen('review', ', changes', [tab(2), { wait: 400 }]),
  screen('review', ', comments', [tab(3), { press: '.pick input' }]),
  screen('review', ', a comment edited', [tab(3), { press: '.pick + div p ~ button' }]),
  screen(
    'review',
    ', no comments',
    [tab(3)],
    hub(whole, { comments: async () => ({ version: 0, comments: [] }) }),
  ),
  screen(
    'review',
    ', comments loading',
    [tab(3)],
    hub(whole, { comments: () => new Promise<never>(() => {}) }),
  ),
  screen('review', ', comments failed', [tab(3)], hub(whole, { comments: unreachable })),
  screen('review', ', search', [{ write: 'main.screen [role=search] input', words: 'retr' }, { wait: 400 }]),
  screen('review', ', export', [taking]),
  screen('review', ', export counted', [taking, { press: 'dialog p.wrapped button' }]),
  screen(
    'review',
    ', export failed',
    [taking, { press: 'dialog p.wrapped button' }],
    hub(whole, { preview: unreachable }),
  ),
  screen('review', ', fork into a worktree', [taking, { press: 'dialog [name=where]:not(:checked)' }]),
  screen('review', ', failed', [], () => ({ ...hub(whole)(), overview: unreachable })),
  screen('play', ''),
  screen('play', ', loading', [], () => ({ ...hub(whole)(), overview: () => new Promise<never>(() => {}) })),
  {
    ...screen('play', ', at a question', [], hub(turn(30))),
    query: '?seq=29',
  },
  // On a desktop the panel is open: this opens its list of keys. On a phone this opens the panel.
  screen('play', ', turns and keys', [{ press: 'main.screen header [aria-pressed=false], aside summary' }]),
  screen('play', ', failed', [], () => ({ ...hub(whole)(), overview: unreachable })),
]
