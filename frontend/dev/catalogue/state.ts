import type { Intents } from '../../src/state/intents'
import type { Message } from '../../src/state/message'
import type { Overview } from '../../src/wire/gen'
import type { Read } from '../../src/state/read'

/** One action in the page on the way to a state. It waits until its element exists. */
export type Step =
  | { press: string }
  | { focus: string }
  /** Writes words into a field. */
  | { write: string; words: string }
  /** Chooses an option of a select. */
  | { choose: string; value: string }
  /** Attaches files with the composer's file input. */
  | { pick: () => File[] }
  /** Waits this many milliseconds, for parts that appear after a delay. */
  | { wait: number }

/** One state of one screen. */
export interface State {
  name: string
  /** The screen's address. */
  path: string
  /** The query of the address, with its question mark. */
  query?: string
  overlay?: 'palette' | 'help' | 'new_session' | 'new_job' | 'background' | 'rules' | 'agent'
  messages: Message[]
  /** The answers of the hub by method; a method that is missing resolves to undefined. */
  hub?: () => Partial<Intents>
  /** The read mark of this device by session id. */
  left?: Record<string, Read>
  does?: readonly Step[]
}

/** What every hub of the catalogue tells of a whole session. */
export const overview: Overview = {
  epoch: '0123456789abcdef',
  min_seq: 1,
  at_seq: 1_000_000,
  from: '2026-02-21T14:03:07Z',
  to: '2026-02-21T14:05:07Z',
  time: { bucket_ms: 1000, events: [] },
  order: { bucket_events: 1, at_ms: [], played_ms: [] },
  marks: [],
  turns: [
    {
      turn: 1,
      seq: 21,
      at: '2026-02-21T14:03:07Z',
      ms: 120_000,
      prompt: 'Spread the retries out',
      files: [{ path: '/home/dev/src/ferry/retry.go', added: 13, removed: 3 }],
      added: 13,
      removed: 3,
      tools: 9,
      commands: 2,
      commands_failed: 0,
      questions: 1,
      tokens: 4200,
    },
  ],
}

/** The agents and workspaces that every hub of the catalogue offers for a new session. */
export const choices = {
  agents: [{ name: 'demo', description: 'The built-in demo agent' }, { name: 'claude' }],
  workspaces: ['/src/ferry', '/src/lake'],
  default_workspace: '/src/ferry',
}
