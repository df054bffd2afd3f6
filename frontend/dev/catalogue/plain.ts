// A session as one plain page.
import type { EventsLoadedMessage } from '../../src/wire/gen'
import { loadedFrame, Script } from '../../test/support/script'
import { goldenEvents, opened, path, whole } from './frames'
import type { State } from './state'

/** A hub that serves these events as a log. The log's max_seq is the last event's seq, or `max`. */
export const log =
  (events = whole, max = events.at(-1)?.seq ?? 0) =>
  () => ({
    events: async (_: string, after: number, limit: number): Promise<EventsLoadedMessage> => {
      const page = events.filter((e) => e.seq > after).slice(0, limit)
      const last = page.at(-1)?.seq ?? after
      return loadedFrame(page, { last_seq: last, max_seq: max, has_more: last < max && page.length > 0 })
    },
  })

const plain = (name: string, hub: State['hub'], query = ''): State => ({
  name: `plain page${name}`,
  path: `${path}/plain`,
  query,
  messages: opened,
  hub,
})

const long = new Script()
for (let turn = 1; turn <= 506; turn++)
  long
    .add('user_prompt', { prompt_id: `p${turn}`, text: `Step ${turn} of the migration`, actor: 'owner' })
    .say(`m${turn}`, `Step ${turn} is **done**: `, 'the old rows are copied and counted.')
    .add('turn_end', { prompt_id: `p${turn}`, stop_reason: 'end_turn' })

export const plains: State[] = [
  plain('', log()),
  plain(', every kind', log(goldenEvents)),
  plain(', one of many', log(long.events), '?page=2'),
  plain(', nothing yet', log([])),
  plain(', loading', () => ({ events: () => new Promise(() => {}) })),
  plain(', failed', () => ({ events: () => Promise.reject(new Error('The hub cannot be reached.')) })),
]
