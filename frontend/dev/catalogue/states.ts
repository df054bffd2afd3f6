// Every state of every screen. The catalogue page shows them, the unit tests
// reduce them, and the end-to-end tests check each with axe.
import type { AppState } from '../../src/state/app'
import { initial, reduce } from '../../src/state/app'
import { deceptions } from './deceiving'
import { doubles } from './doubled'
import { feeds } from './feeds'
import { workspace } from './files'
import { jobScreens } from './jobs'
import { links } from './links'
import { lists } from './lists'
import { panels } from './panels'
import { plains } from './plain'
import { again } from './reviews'
import { settings } from './settings'
import type { State } from './state'
import { strange } from './strange'
import { usage } from './usage'
import { writing } from './writing'

export type { State } from './state'

export const states: State[] = [
  ...lists,
  ...feeds,
  ...panels,
  ...settings,
  ...jobScreens,
  ...usage,
  ...writing,
  ...links,
  ...plains,
  ...workspace,
  ...again,
  ...doubles,
  ...deceptions,
  ...strange,
]

export function stateOf({ messages }: State): AppState {
  return messages.reduce(reduce, initial)
}
