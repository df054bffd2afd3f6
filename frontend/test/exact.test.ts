import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { initial, reduce, type AppState } from '../src/state/app'
import { after, emptyFeed } from '../src/state/feed'
import { planOf, told } from '../src/state/select'
import { toolView } from '../src/state/tool'
import { describe as say } from '../src/ui/feed/describe'
import { parseFrame } from '../src/wire/frames'
import type { AbideEvent, EventType, ServerMessage } from '../src/wire/gen'

const repo = resolve(__dirname, '../..')
const golden = (name: string) =>
  readFileSync(join(repo, 'server/wire/testdata/server', `${name}.json`), 'utf8')
const events = readFileSync(join(repo, 'session/event/testdata/events.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as AbideEvent)
const id = '20260221-140307-9f3a11c0'

/** The feed of one golden event with changed data. */
function shown(type: EventType, over: Record<string, unknown>) {
  const event = events.find((e) => e.type === type)!
  const sent = { ...event, seq: 1, first_seq: undefined, data: { ...event.data, ...over } } as AbideEvent
  return after(emptyFeed(0), [sent])
}

/** The app after the golden state frame with changed fields, at the cursor of the session. */
function live(over: object): AppState {
  const open = reduce(initial, { kind: 'open', sessionId: id })
  const page = reduce(open, { kind: 'frame', frame: parseFrame(golden('events_loaded'))! })
  const at_seq = page.sessions.get(id)!.feed.last
  const frame = {
    ...parseFrame(golden('state')),
    session_id: id,
    at_seq,
    ...over,
  } as unknown as ServerMessage
  return reduce(page, { kind: 'frame', frame })
}

it('an empty entry of a plan is left out, and a malformed plan has no entries', () => {
  const good = { content: 'Write', priority: 'high', status: 'pending' }
  const entries = (value: unknown) => {
    const item = shown('plan', { entries: value }).items.get(0)
    return item.kind === 'plan' ? item.entries : null
  }
  expect(entries([{ status: 'pending' }, null, 'x', good, { content: 'Only this' }])).toEqual([
    good,
    { content: 'Only this', priority: 'medium', status: 'pending' },
  ])
  expect(entries({ content: 'x' })).toEqual([])
})

it('malformed modes, costs and titles are ignored', () => {
  expect(shown('mode', { modes: ['x', { id: 'a', name: 'Ask' }] }).latest.modes?.value).toEqual([
    { id: 'a', name: 'Ask' },
  ])
  expect(shown('mode', { modes: { id: 'a' } }).latest.modes).toBeUndefined()
  expect(
    shown('usage', { cost: { amount: '1.5', currency: 'USD' } }).latest.usage?.value.cost,
  ).toBeUndefined()
  const state = live({
    mode: { mode_id: 'a', modes: {} },
    usage: { used: 1, size: 2, cost: { amount: '1' } },
  })
  expect(told({ ...state.sessions.get(id)!, feed: emptyFeed(0) })).toMatchObject({
    modes: [],
    usage: { used: 1 },
  })
})

it('a permission request with a malformed title still asks, and a malformed stop reason is unknown', () => {
  const asked = shown('permission_request', {
    title: [null],
    options: [null, { option_id: 'a', name: 'Yes' }],
  })
  expect(asked.items.get(0)).toMatchObject({
    ask: { title: '', options: [{ option_id: 'a', name: 'Yes', kind: '' }] },
  })
  expect(shown('turn_end', { stop_reason: { a: 1 } }).items.get(0)).toMatchObject({ stopReason: 'unknown' })
})

it('an event with a malformed id or malformed data is shown as raw data', () => {
  expect(shown('tool_call', { tool_call_id: 5 }).items.get(0)).toMatchObject({ kind: 'unknown' })
  const event = { seq: 1, time: 'never', type: 'note', data: 'no object' } as unknown as AbideEvent
  expect(after(emptyFeed(0), [event]).items.get(0)).toMatchObject({
    kind: 'unknown',
    data: 'no object',
    time: '1970-01-01T00:00:00Z',
  })
})

it('a state frame with a malformed seq is ignored, and malformed parts become empty', () => {
  expect(live({ at_seq: '7' }).sessions.get(id)?.live).toBeNull()
  expect(
    live({
      queue: { 0: 1 },
      observers: [null],
      pending_permissions: 'p',
      agent: 'x',
      turn: null,
    }).sessions.get(id)?.live,
  ).toMatchObject({
    queue: [],
    observers: [],
    pending_permissions: [],
    agent: { name: '', status: 'absent' },
    turn: { state: 'idle' },
  })
})

const strange = [null, 5, 'x', [null], { a: 1 }, true]

it.each(events.map((event) => [event.type, event] as const))('no part of %s breaks the feed', (_, event) => {
  for (const name of Object.keys(event.data)) {
    for (const value of strange) {
      const sent = {
        ...event,
        seq: 1,
        first_seq: undefined,
        data: { ...event.data, [name]: value },
      } as AbideEvent
      const feed = after(emptyFeed(0), [sent])
      for (const item of feed.items) {
        if (item.kind === 'event') expect(() => JSON.stringify(say(item.event))).not.toThrow()
        if (item.kind === 'tool') expect(typeof toolView(item).title).toBe('string')
        if (item.kind === 'plan') for (const e of item.entries) expect(typeof e.content).toBe('string')
        if (item.kind === 'permission' && item.ask) expect(typeof item.ask.title).toBe('string')
        if (item.kind === 'turn_end') expect(typeof item.stopReason).toBe('string')
      }
      for (const mode of feed.latest.modes?.value ?? []) expect(typeof mode.name).toBe('string')
      expect(typeof (feed.latest.usage?.value.cost?.amount ?? 0)).toBe('number')
    }
  }
})

it('golden events and states are taken as they are', () => {
  const { live: state } = live({}).sessions.get(id)!
  const sent = parseFrame(golden('state'))
  expect(state).toEqual({ ...sent, session_id: id, at_seq: state!.at_seq })
  expect(planOf(live({}).sessions.get(id)!)).toEqual(expect.any(Array))
})
