import type { Intents } from '../../src/state/intents'
import type { Message } from '../../src/state/message'
import type { Read } from '../../src/state/read'

/** What somebody does to bring a screen into a state; each waits until its element is there. */
export type Step =
  | { press: string }
  | { focus: string }
  /** Words into a field. */
  | { write: string; words: string }
  /** An entry of a select. */
  | { choose: string; value: string }
  /** Files by the composer's picker. */
  | { pick: () => File[] }
  /** Nothing but waiting, for what shows only after a while. */
  | { wait: number }

/** One state of one screen. */
export interface State {
  name: string
  /** The screen's address. */
  path: string
  /** What the address asks for beside the screen, from its question mark on. */
  query?: string
  overlay?: 'palette' | 'help' | 'new_session' | 'rules' | 'agent'
  messages: Message[]
  /** What the hub answers; whatever is not here is answered with nothing. */
  hub?: () => Partial<Intents>
  /** How far this device had read each session, and when. */
  left?: Record<string, Read>
  does?: readonly Step[]
}

/** What every hub here offers for a new session. */
export const choices = {
  agents: [{ name: 'demo', description: 'The built-in demo agent' }, { name: 'claude' }],
  workspaces: ['/src/ferry', '/src/lake'],
  defaultWorkspace: '/src/ferry',
}
