import { expect, test } from 'vitest'
import { after, emptyFeed } from '../src/state/feed'
import { silence } from '../src/state/select'
import type { SessionState } from '../src/state/session'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()

/** A session with a message at second `said`, and a turn that began at second `since`. */
function session(said: number | null, since: number | null): SessionState {
  const event = {
    seq: 1,
    time: at(said ?? 0),
    type: 'agent_message' as const,
    data: { message_id: 'm', text: 'x' },
  }
  const feed = after(emptyFeed(0), said === null ? [] : [event as never])
  const live = since === null ? null : { turn: { since: at(since) } }
  return { feed, live } as unknown as SessionState
}
const now = Date.parse(at(40))

test('a silence is never longer than the turn', () => {
  expect(silence(session(3, 6), now), 'said before the turn').toBe(34_000)
  expect(silence(session(10, 6), now), 'said in the turn').toBe(30_000)
  expect(silence(session(null, 6), now), 'nothing said').toBe(34_000)
  expect(silence(session(10, null), now), 'no turn').toBe(30_000)
  expect(silence(session(null, null), now), 'nothing known').toBe(0)
})
