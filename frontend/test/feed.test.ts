import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { after, before, emptyFeed, find, type Feed } from '../src/state/feed'
import { silent } from '../src/state/silent'
import { toolView } from '../src/state/tool'
import type { AbideEvent } from '../src/wire/gen'
import { Script } from './support/script'

const fold = (events: AbideEvent[]) => after(emptyFeed((events[0]?.seq ?? 1) - 1), events)
const items = (feed: Feed) => [...feed.items]

describe('the feed', () => {
  it('joins chunks of one message, across events that do not interrupt it', () => {
    const script = new Script().add('user_prompt', { prompt_id: 'p', text: 'hi' }).say('m', 'a', 'b')
    script.add('usage', { used: 1, size: 2 }).add('note', { method: 'x/y' }).say('m', 'c')
    const texts = items(fold(script.events)).filter((i) => i.kind === 'text')
    expect(texts.map((t) => t.text)).toEqual(['abc'])
    expect(texts[0]!.last).toBe(6)
  })

  it('has no line for what an agent sends for its client alone', () => {
    const status = {
      sessionUpdate: 'session_info_update',
      _meta: { codex: { threadStatus: { type: 'idle' } } },
    }
    const script = new Script()
      .add('note', { method: '_auth/status_update', raw: { authStatus: { kind: 'gateway' } } })
      .add('note', { method: 'session/update', raw: status })
      .add('note', { method: 'session/update', raw: { sessionUpdate: 'user_message_chunk' } })
      .add('note', { method: 'session/update', raw: { sessionUpdate: 'hologram' } })
    expect(items(fold(script.events)).map((i) => i.seq)).toEqual([4])
  })

  it('begins a new text below a tool call', () => {
    const script = new Script().say('m', 'before').add('tool_call', { tool_call_id: 't' }).say('m', 'after')
    expect(items(fold(script.events)).map((i) => i.kind)).toEqual(['text', 'tool', 'text'])
  })

  it('upserts a tool call by id; absent means unchanged', () => {
    const script = new Script()
      .add('tool_call', { tool_call_id: 't', title: 'Read', kind: 'read', status: 'pending' })
      .add('tool_call_update', { tool_call_id: 't', status: 'completed', content: [1] })
    const tool = find(fold(script.events), 'tool', 'tool:0:t')
    expect(tool).toMatchObject({
      title: 'Read',
      toolKind: 'read',
      status: 'completed',
      content: [1],
      seq: 1,
      last: 2,
    })
  })

  it('continues the last text of a content by what was added, whichever page is folded first', () => {
    const says = (text: string) => [{ type: 'content', content: { type: 'text', text } }]
    const events = new Script()
      .add('tool_call', { tool_call_id: 't', title: 'make', content: says('old') })
      .add('tool_call_update', { tool_call_id: 't', content_added: 'er' })
      .add('tool_call_update', { tool_call_id: 't', content: says('one ') })
      .add('tool_call_update', { tool_call_id: 't', content_added: 'two ' })
      .add('tool_call_update', { tool_call_id: 't', status: 'in_progress', content_added: 'three' }).events
    for (let cut = 0; cut <= events.length; cut++) {
      const later = after(emptyFeed(cut), events.slice(cut))
      const both = before(after(emptyFeed(0), events.slice(0, cut)), later)
      expect(toolView(find(both, 'tool', 'tool:0:t')!).output).toBe('one two three')
    }
    const late = after(emptyFeed(3), events.slice(3))
    expect(toolView(find(late, 'tool', 'tool:0:t')!).output).toBe('two three')
  })

  it('cuts the end of a text before it goes on, in a content and a raw output', () => {
    const says = (text: string) => [{ type: 'content', content: { type: 'text', text } }]
    const events = new Script()
      .add('tool_call', { tool_call_id: 't', content: says('```\none\n```') })
      .add('tool_call_update', { tool_call_id: 't', content_cut: 3, content_added: 'two 🙂' })
      .add('tool_call_update', { tool_call_id: 't', content_cut: 2 })
      .add('tool_call_update', { tool_call_id: 't', content_cut: 4, content_added: 'end\n```' })
      .add('tool_call_update', { tool_call_id: 'o', raw_output: { output: 'one', more: 1 } })
      .add('tool_call_update', { tool_call_id: 'o', output_grown: { member: 'output', added: ' two' } })
      .add('tool_call_update', {
        tool_call_id: 'o',
        output_grown: { member: 'output', cut: 5, added: 'end' },
      })
      .add('tool_call_update', { tool_call_id: 's', raw_output: 'one' })
      .add('tool_call_update', { tool_call_id: 's', output_grown: { cut: 1, added: 'two' } }).events
    for (let cut = 0; cut <= events.length; cut++) {
      const later = after(emptyFeed(cut), events.slice(cut))
      const both = before(after(emptyFeed(0), events.slice(0, cut)), later)
      const output = (id: string) => toolView(find(both, 'tool', `tool:0:${id}`)!).output
      expect([output('t'), output('o'), output('s')]).toEqual(['oneend', 'onend', 'ontwo'])
    }
  })

  it('keeps the diff that a call proposed if the agent later only reports its completion', () => {
    const diff = { type: 'diff', path: '/w/oc.txt', oldText: '', newText: 'one\ntwo' }
    const says = (text: string) => [{ type: 'content', content: { type: 'text', text } }]
    const call = (status: 'completed' | 'failed' | 'in_progress', text: string) => {
      const script = new Script()
        .add('tool_call', { tool_call_id: 't', title: 'write', kind: 'edit', status: 'pending' })
        .add('tool_call_update', { tool_call_id: 't', content: [{ ...diff, newText: 'draft' }] })
        .add('tool_call_update', { tool_call_id: 't', title: '/w/oc.txt', content: [diff] })
        .add('tool_call_update', { tool_call_id: 't', status, content: says(text) })
      return toolView(find(fold(script.events), 'tool', 'tool:0:t')!)
    }
    const made = call('completed', 'Wrote file successfully.')
    expect(made.changes).toEqual([{ path: '/w/oc.txt', before: '', after: 'one\ntwo' }])
    expect(made.output).toBe('Wrote file successfully.')
    expect(call('failed', 'No such folder').changes).toEqual([])
    expect(call('in_progress', 'It would rather say this').changes).toEqual(made.changes)
  })

  it('shows stdout and stderr of a command that failed, each once', () => {
    const call = (status: 'completed' | 'failed', rawOutput: unknown, text?: string) => {
      const content = text && [{ type: 'content', content: { type: 'text', text } }]
      const script = new Script().add('tool_call', {
        tool_call_id: 't',
        title: 'make',
        status,
        raw_output: rawOutput,
        ...(content && { content }),
      })
      return toolView(find(fold(script.events), 'tool', 'tool:0:t')!).output
    }
    const both = { stdout: 'built a\n', stderr: 'no b\n', exit_code: 2 }
    expect(call('failed', both)).toBe('built a\nno b')
    expect(call('completed', both)).toBe('built a\nno b')
    expect(call('completed', { ...both, exit_code: 0 })).toBe('built a')
    expect(call('failed', both, 'Exit code 2')).toBe('Exit code 2\nbuilt a\nno b')
    expect(call('failed', both, 'Exit code 2\nno b')).toBe('Exit code 2\nno b\nbuilt a')
    expect(call('failed', 'only words')).toBe('only words')
  })

  it('knows a turn in which the agent said and did nothing', () => {
    const turn = (more: (script: Script) => Script) => {
      const script = new Script().add('user_prompt', { prompt_id: 'p', text: 'go' })
      const feed = fold(more(script).add('turn_end', { prompt_id: 'p', stop_reason: 'end_turn' }).events)
      return silent(
        feed,
        items(feed).find((i) => i.kind === 'turn_end')!,
      )
    }
    expect(turn((s) => s)).toBe(true)
    expect(turn((s) => s.add('agent_thought', { message_id: 'm', text: 'Hm' }))).toBe(true)
    expect(turn((s) => s.say('m', 'so'))).toBe(false)
    expect(turn((s) => s.add('plan', { entries: [] }))).toBe(false)
    expect(turn((s) => s.add('tool_call', { tool_call_id: 't' }))).toBe(false)
  })

  it('tells tool calls of two turns apart, whatever the agent calls them', () => {
    const script = new Script()
      .add('user_prompt', { prompt_id: 'p1', text: 'one' })
      .add('tool_call', { tool_call_id: 't', title: 'First', status: 'completed' })
      .add('user_prompt', { prompt_id: 'p2', text: 'two' })
      .add('tool_call', { tool_call_id: 't', title: 'Second', status: 'pending' })
    const feed = fold(script.events)
    expect(find(feed, 'tool', 'tool:1:t')).toMatchObject({ title: 'First', status: 'completed' })
    expect(find(feed, 'tool', 'tool:2:t')).toMatchObject({ title: 'Second', status: 'pending' })
  })

  it('makes a tool call of an update without an earlier tool_call event', () => {
    const script = new Script().add('tool_call_update', {
      tool_call_id: 't',
      title: 'Orphan',
      status: 'failed',
    })
    expect(find(fold(script.events), 'tool', 'tool:0:t')).toMatchObject({ title: 'Orphan', status: 'failed' })
  })

  it('keeps the first outcome of a permission request', () => {
    const script = new Script()
      .add('permission_request', { permission_id: 'p', title: 'Run?', options: [] })
      .add('permission_outcome', { permission_id: 'p', outcome: 'selected', option_id: 'yes', by: 'phone' })
      .add('permission_outcome', { permission_id: 'p', outcome: 'cancelled', by: 'hub' })
    expect(find(fold(script.events), 'permission', 'permission:p')?.outcome?.by).toBe('phone')
  })

  it('shows an event of an unknown type, and one with malformed data', () => {
    const strange = { seq: 1, time: '', type: 'hologram', data: { x: 1 } } as unknown as AbideEvent
    const broken = { seq: 2, time: '', type: 'tool_call', data: null } as unknown as AbideEvent
    expect(items(fold([strange, broken])).map((i) => i.kind)).toEqual(['unknown', 'unknown'])
  })

  it('does not change the feed it was made from', () => {
    const script = new Script().say('m', 'a')
    const one = fold(script.events)
    const snapshot = JSON.stringify(items(one))
    after(one, new Script().say('m', 'a', 'b').events.slice(1))
    expect(JSON.stringify(items(one))).toBe(snapshot)
  })

  it('gives the same feed however the events are split into pages', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.array(fc.nat(60), { maxLength: 4 }),
        (steps, cuts) => {
          const script = new Script()
          for (const add of steps) add(script)
          const whole = fold(script.events)
          const at = [...new Set(cuts.map((c) => Math.min(c, script.events.length)))].sort((a, b) => b - a)
          let end = script.events.length
          let joined: Feed = emptyFeed(end)
          for (const cut of [...at, 0]) {
            const page = script.events.slice(cut, end)
            joined = before(after(emptyFeed(cut), page), joined)
            end = cut
          }
          expect(items(joined)).toEqual(items(whole))
          expect(joined.latest).toEqual(whole.latest)
          expect([...joined.keyed].sort()).toEqual([...whole.keyed].sort())
          expect([joined.first, joined.last]).toEqual([whole.first, whole.last])
        },
      ),
      { numRuns: 500 },
    )
  })
})

const id = fc.constantFrom('a', 'b', 'c')
const step: fc.Arbitrary<(s: Script) => void> = fc.oneof(
  fc.tuple(id, fc.string()).map(
    ([m, text]) =>
      (s: Script) =>
        void s.say(m, text),
  ),
  id.map((m) => (s: Script) => void s.add('agent_thought', { message_id: m, text: 'hm' })),
  id.map(
    (t) => (s: Script) => void s.add('tool_call', { tool_call_id: t, title: `T${t}`, status: 'pending' }),
  ),
  id.map((t) => (s: Script) => void s.add('tool_call_update', { tool_call_id: t, status: 'completed' })),
  fc.tuple(id, fc.array(fc.constantFrom('diff', 'content'), { maxLength: 2 }), fc.nat(3)).map(
    ([t, types, n]) =>
      (s: Script) =>
        void s.add('tool_call_update', { tool_call_id: t, content: types.map((type) => ({ type, n })) }),
  ),
  fc
    .nat(9)
    .map((n) => (s: Script) => void s.add('user_prompt', { prompt_id: `p${s.events.length}`, text: `${n}` })),
  id.map((p) => (s: Script) => void s.add('permission_request', { permission_id: p, title: p, options: [] })),
  id.map(
    (p) => (s: Script) => void s.add('permission_outcome', { permission_id: p, outcome: 'cancelled', by: p }),
  ),
  fc.nat(9).map((n) => (s: Script) => void s.add('usage', { used: n, size: 10 })),
  fc
    .nat(3)
    .map(
      (n) => (s: Script) =>
        void s.add('plan', { entries: [{ content: `${n}`, priority: 'low', status: 'pending' }] }),
    ),
  id.map((t) => (s: Script) => void s.add('terminal_output', { terminal_id: t, data: 'x' })),
  fc.constant((s: Script) => void s.add('turn_end', { prompt_id: 'p', stop_reason: 'end_turn' })),
  fc.constant((s: Script) => void s.add('note', { method: 'abide/x' })),
)
