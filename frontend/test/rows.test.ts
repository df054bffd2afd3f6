import { describe, expect, test } from 'vitest'
import { after, before, emptyFeed, type Feed } from '../src/state/feed'
import { toolKey } from '../src/state/itemof'
import { RowKeys } from '../src/state/rowkeys'
import { beginsWith, leadsTo, outer, rowsOf, span } from '../src/state/rows'
import type { AbideEvent, AgentExitData, AgentStartedData } from '../src/wire/gen'
import { Script } from './support/script'

const time = '2026-01-01T00:00:00Z'
const exit = (seq: number, reason: string): AbideEvent => ({
  seq,
  time,
  type: 'agent_exit',
  data: { reason } satisfies AgentExitData,
})
const started = (seq: number, data: Partial<AgentStartedData>): AbideEvent => ({
  seq,
  time,
  type: 'agent_started',
  data: { agent: 'demo', pid: 1, ...data },
})
const prompt = (seq: number): AbideEvent => ({
  seq,
  time,
  type: 'user_prompt',
  data: { prompt_id: `p${seq}`, text: 'hi' },
})

function shown(...events: AbideEvent[]): string[] {
  return rowsOf(after(emptyFeed(0), events)).map((r) => r.key)
}

test('of overlapping rows, a link to a seq leads to one, and the new part begins at one', () => {
  const say = (seq: number, message_id: string): AbideEvent => ({
    seq,
    time,
    type: 'agent_message',
    data: { message_id, text: 'x' } as never,
  })
  const plan = (seq: number): AbideEvent => ({ seq, time, type: 'plan', data: { entries: [] } as never })
  // The plan is 2 to 6; no row holds 7.
  const rows = rowsOf(after(emptyFeed(0), [prompt(1), plan(2), say(3, 'a'), say(4, 'b'), plan(6), prompt(8)]))
  const at = (of: typeof leadsTo, seq: number) =>
    rows.flatMap((_, i) => (of(rows, i, seq) ? [span(rows[i]!).first] : []))
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map((seq) => at(leadsTo, seq))).toEqual([
    [1],
    [2],
    [3],
    [4],
    [4],
    [4],
    [4],
    [8],
    [],
  ])
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map((seq) => at(beginsWith, seq))).toEqual([
    [1],
    [2],
    [3],
    [4],
    [8],
    [8],
    [8],
    [8],
    [],
  ])
})

describe('a sub-agent’s calls', () => {
  const call = (seq: number, id: string, parent?: string, kind = 'read'): AbideEvent => {
    const _meta = parent === undefined ? {} : { claudeCode: { parentToolUseId: parent } }
    return {
      seq,
      time,
      type: 'tool_call',
      data: { tool_call_id: id, title: id, kind: kind as never, raw: { _meta } },
    }
  }
  const say = (seq: number): AbideEvent => ({
    seq,
    time,
    type: 'agent_message',
    data: { message_id: `${seq}`, text: 'x' } as never,
  })
  const read = (...events: AbideEvent[]) => {
    const feed = after(emptyFeed(0), [prompt(1), ...events])
    return { feed, rows: rowsOf(feed) }
  }
  const told = (rows: ReturnType<typeof rowsOf>) =>
    rows.map((r) =>
      r.kind === 'group'
        ? r.tools.map((t) => t.toolCallId)
        : r.calls
          ? [r.key, r.calls.map((c) => c.toolCallId)]
          : r.key,
    )

  test('are grouped under the call that started it, also nested ones, and with two at work at once', () => {
    const { rows } = read(
      call(2, 'a', undefined, 'think'),
      call(3, 'b', undefined, 'think'),
      call(4, 'a1', 'a'),
      call(5, 'b1', 'b'),
      say(6),
      call(7, 'a2', 'a', 'think'),
      call(8, 'deep', 'a2'),
      call(9, 'own'),
    )
    expect(told(rows)).toEqual([
      'prompt:p1',
      [toolKey(0, 'a'), ['a1', 'a2', 'deep']],
      [toolKey(0, 'b'), ['b1']],
      'text:6',
      toolKey(0, 'own'),
    ])
    expect(span(rows[1]!)).toEqual({ first: 2, last: 8 })
    expect(
      [4, 5, 6, 8].map((seq) => outer(rows, seq)),
      'where they are shown',
    ).toEqual([2, 3, 6, 2])
  })

  test('are not counted as reads of the agent itself, and are separate rows if their parent is not loaded', () => {
    const { rows } = read(call(2, 'r1'), call(3, 'gone1', 'gone'), call(4, 'r2'), call(5, 'r3'))
    expect(told(rows)).toEqual(['prompt:p1', toolKey(0, 'r1'), toolKey(0, 'gone1'), ['r2', 'r3']])
  })

  test('keep the same row object while it does not change', () => {
    const { feed, rows } = read(call(2, 'a', undefined, 'think'), call(3, 'a1', 'a'))
    expect(rowsOf(after(feed, [say(4)]))[1]).toBe(rows[1])
    expect(rowsOf(after(feed, [call(4, 'a2', 'a')]))[1]).not.toBe(rows[1])
  })
})

test('sleep and the wake after it are not shown', () => {
  expect(shown(exit(1, 'asleep'), prompt(2), started(3, { resumed: 'resume' }))).toEqual(['prompt:p2'])
})

test('a wake without its memory is shown', () => {
  expect(shown(exit(1, 'asleep'), started(2, { context_lost: true }))).toEqual(['event:2'])
})

test('a lost memory is shown once: by the start, or by the note if the start does not show it', () => {
  const note: AbideEvent = {
    seq: 2,
    time,
    type: 'note',
    data: { method: 'abide/context_lost', text: 'Gone.' },
  }
  expect(shown(started(1, { context_lost: true }), note)).toEqual(['event:1'])
  expect(shown(started(1, {}), note)).toEqual(['event:1', 'event:2'])
  expect(shown(note)).toEqual(['event:2'])
})

test('a crash and the return after it are shown, also after an earlier sleep', () => {
  const slept = [exit(1, 'asleep'), started(2, { resumed: 'load' })]
  expect(shown(...slept, exit(3, 'exited'), started(4, { resumed: 'load' }))).toEqual(['event:3', 'event:4'])
})

test('a question has a row once it is answered; until then only the question panel shows it', () => {
  const ask = new Script().add('permission_request', { permission_id: 'q', title: 'Edit', options: [] })
  expect(shown(...ask.events)).toEqual([])
  ask.add('permission_outcome', { permission_id: 'q', outcome: 'cancelled', by: 'hub' })
  expect(shown(...ask.events)).toEqual(['permission:q'])
})

describe('a row whose beginning is loaded later', () => {
  const keysAfter = (older: AbideEvent[], newer: AbideEvent[], more: AbideEvent[] = []) => {
    const keys = new RowKeys()
    const late = after(emptyFeed(newer[0]!.seq - 1), newer)
    const whole = before(after(emptyFeed(older[0]!.seq - 1), older), late)
    const shown = (feed: Feed) => keys.take(rowsOf(feed))
    return [shown(late), shown(whole), shown(after(whole, more))] as const
  }
  const pages = (script: Script, at: number) =>
    [script.events.slice(0, at), script.events.slice(at, -1), script.events.slice(-1)] as const
  const read = (script: Script, id: string) =>
    script.add('tool_call', { tool_call_id: id, title: id, kind: 'read', status: 'completed' })

  test('keeps its key when it is a text, and while the text goes on', () => {
    const script = new Script().say('a', 'first').say('b', 'one ', 'two ', 'three')
    const [late, whole, more] = keysAfter(...pages(script, 2))
    expect(whole.map((r) => r.key)).toEqual(['text:1', late[0]!.key])
    expect(span(whole[1]!)).toEqual({ first: 2, last: 3 })
    expect(more.map((r) => r.key)).toEqual(whole.map((r) => r.key))
    expect(more[1]).toMatchObject({ item: { text: 'one two three', key: late[0]!.key } })
  })

  test('keeps its key when another text is between its parts', () => {
    const script = new Script().say('a', 'one ').say('b', 'aside').say('a', 'two ', 'three ', 'four')
    const [late, whole] = keysAfter(...pages(script, 2))
    expect(whole.map((r) => r.key)).toEqual([late[0]!.key, 'text:2'])
  })

  test('keeps its key when it is a group, and opened groups stay open', () => {
    const script = new Script()
    for (const id of ['a', 'b', 'c', 'd', 'e']) read(script, id)
    const [late, whole, more] = keysAfter(...pages(script, 2))
    expect(late.map((r) => r.key)).toEqual([toolKey(0, 'c')])
    expect(whole.map((r) => r.key)).toEqual(late.map((r) => r.key))
    expect(more).toMatchObject([{ key: late[0]!.key, tools: { length: 5 } }])
  })

  test('does not get the key of a row that merely encloses it', () => {
    const script = new Script()
    script
      .add('tool_call', { tool_call_id: 't', title: 'run', kind: 'execute', status: 'pending' })
      .say('a', 'one ')
    script.add('tool_call_update', { tool_call_id: 't', status: 'completed' }).say('a', 'two ', 'three')
    const [, whole] = keysAfter(...pages(script, 2))
    expect(new Set(whole.map((r) => r.key)).size).toBe(whole.length)
    expect(whole[0]!.key).toBe(toolKey(0, 't'))
  })

  test('keeps its key however small the pages are that bring its beginning', () => {
    const script = new Script().say('a', 'x').say('b', '1', '2', '3', '4', '5', '6')
    const keys = new RowKeys()
    let feed = after(emptyFeed(6), script.events.slice(6))
    const first = keys.take(rowsOf(feed))[0]!.key
    for (let at = 5; at >= 0; at--) {
      feed = before(after(emptyFeed(at), script.events.slice(at, at + 1)), feed)
      expect(keys.take(rowsOf(feed)).at(-1)!.key).toBe(first)
    }
  })

  test('gets a new key while no reader is in the feed, and keeps its key after the reader has left', () => {
    const script = new Script().say('b', '1', '2', '3', '4')
    const from = (at: number) => rowsOf(after(emptyFeed(at), script.events.slice(at)))
    const keys = new RowKeys()
    keys.take(from(3), false)
    const [now] = keys.take(from(2), false)
    expect(now!.key).toBe('text:3')
    expect(keys.take(from(1), true)[0]!.key).toBe('text:3')
    expect(keys.take(from(1), false)[0]!.key).toBe('text:3')
  })

  test('gets its own key again once the earlier rows are gone', () => {
    const script = new Script().say('b', '1', '2', '3')
    const keys = new RowKeys()
    const late = after(emptyFeed(2), script.events.slice(2))
    keys.take(rowsOf(late))
    keys.take(rowsOf(after(emptyFeed(0), new Script().say('z', 'elsewhere').events)))
    expect(keys.take(rowsOf(fold(script))).map((r) => r.key)).toEqual(['text:1'])
  })
})

const fold = (script: Script) => after(emptyFeed(0), script.events)
