import { describe, expect, it } from 'vitest'
import { initial, reduce } from '../src/state/app'
import { catchUp } from '../src/state/catchup'
import { after, before, emptyFeed, find, type Feed } from '../src/state/feed'
import { verdictOn, wasDone } from '../src/state/requests'
import { rowsOf } from '../src/state/rows'
import type { AbideEvent, PermissionKind, ToolStatus } from '../src/wire/gen'
import { loadedFrame, Script, sessionId } from './support/script'

const options = (['allow_once', 'reject_once'] as PermissionKind[]).map((kind) => ({
  option_id: kind,
  name: kind,
  kind,
}))

/** A call that asks at 4 s, is answered at 5 s and ends at 6 s, with this answer and end status. */
function asked(answer: PermissionKind | null, status: ToolStatus): AbideEvent[] {
  const change = { type: 'diff', path: '/a', oldText: 'a', newText: 'b' }
  const script = new Script()
    .add('user_prompt', { prompt_id: 'p', text: 'go' })
    .add('turn_start', {} as never)
    .add('tool_call', { tool_call_id: 'c', title: 'Edit a', status: 'pending', content: [change] } as never)
    .add('permission_request', { permission_id: 'q', tool_call_id: 'c', title: '', options } as never)
  if (answer) {
    script.add('permission_outcome', { permission_id: 'q', outcome: 'selected', option_id: answer, by: 'me' })
  } else {
    script.add('permission_outcome', { permission_id: 'q', outcome: 'cancelled', by: 'hub' })
  }
  return script.add('tool_call_update', { tool_call_id: 'c', status }).events
}

const call = (feed: Feed) => find(feed, 'tool', 'tool:1:c')!
const folded = (events: AbideEvent[]) => after(emptyFeed(events[0]!.seq - 1), events)

describe('a call that asked first', () => {
  it.each([
    ['allow_once', 'completed', false, true],
    ['allow_once', 'failed', false, false],
    ['reject_once', 'failed', true, false],
    ['reject_once', 'completed', true, false],
    ['allow_once', 'pending', false, false],
    [null, 'failed', false, false],
  ] as const)('answered %s and then %s', (answer, status, rejected, done) => {
    const feed = folded(asked(answer, status))
    expect(verdictOn(feed, call(feed))).toMatchObject({ rejected, waited: 1_000 })
    expect(wasDone(feed, call(feed))).toBe(done)
    let state = reduce(initial, { kind: 'open', sessionId })
    state = reduce(state, { kind: 'frame', frame: loadedFrame(asked(answer, status)) })
    const { files } = catchUp(state.sessions.get(sessionId)!, { seq: 1, at: 0 })
    expect(files.length, 'files of the catch-up card').toBe(done ? 1 : 0)
  })

  it('counts its newest answer', () => {
    const events = asked('reject_once', 'completed')
    const seq = events.length
    const again = asked('allow_once', 'completed')
      .slice(3)
      .map((e, i) => ({ ...e, seq: seq + i + 1, data: { ...e.data, permission_id: 'q2' } }) as AbideEvent)
    const feed = after(folded(events), again)
    expect(verdictOn(feed, call(feed))).toMatchObject({ rejected: false, waited: 2_000 })
  })

  it('is known once the page with its request has come', () => {
    const events = asked('reject_once', 'failed')
    const newest = folded(events.slice(4))
    expect(verdictOn(newest, call(newest))).toMatchObject({ rejected: false, waited: 0 })
    const whole = before(folded(events.slice(0, 4)), newest)
    expect(verdictOn(whole, call(whole))).toMatchObject({ rejected: true, waited: 1_000 })
  })
})

it('the end that a hub gave an old call has no row of its own: it belongs to the call once that is loaded', () => {
  const events = asked(null, 'pending')
  const closed = {
    ...events[5]!,
    seq: 7,
    data: { tool_call_id: 'c', status: 'failed', synthetic: true },
  } as AbideEvent
  const newest = folded([closed])
  expect(rowsOf(newest)).toEqual([])
  const rows = rowsOf(before(folded(events), newest))
  expect(rows.flatMap((r) => (r.kind === 'item' && r.item.kind === 'tool' ? r.item.status : []))).toEqual([
    'failed',
  ])
})
