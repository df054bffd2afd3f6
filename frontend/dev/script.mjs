// The turn that the mock hub's agent plays: every kind of entry the app shows.

const workspace = '/home/dev/src/ferry'

const goBefore = `package ferry

import "time"

// Wait returns how long to wait before attempt n.
func Wait(n int) time.Duration {
	return time.Second * time.Duration(n)
}
`

const goAfter = `package ferry

import (
	"math/rand/v2"
	"time"
)

const (
	base = 250 * time.Millisecond
	most = 10 * time.Second
)

// Wait returns how long to wait before attempt n, from 1: full jitter, so
// that many clients do not come back at once.
func Wait(n int) time.Duration {
	ceiling := min(most, base<<min(n-1, 8))
	return base + rand.N(ceiling-base+1)
}
`

const answer = `The retry loop waited longer and longer in step, so every client came back in the same moment. It now uses **full jitter**:

| attempt | before | now |
|---|---|---|
| 1 | 1 s | 250 ms |
| 3 | 3 s | 250 ms – 1 s |
| 9 | 9 s | 250 ms – 10 s |

\`\`\`go
func Wait(n int) time.Duration {
	ceiling := min(most, base<<min(n-1, 8))
	return base + rand.N(ceiling-base+1)
}
\`\`\`

What I checked:

- \`go test ./...\` passes, with \`-race\`
- the longest wait stays at **10 s**
- callers of \`Wait\` count from 1, so \`n-1\` never goes below zero

One thing I left alone: \`client.go:88\` retries on *any* error, also on \`401\`. You may want to stop there; see [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110#name-401-unauthorized).
`

const output = [
  '$ go test -race ./...',
  '\x1b[32mok\x1b[0m  \tferry\t0.412s',
  '\x1b[32mok\x1b[0m  \tferry/queue\t1.031s',
  '\x1b[33m?\x1b[0m   \tferry/cmd\t[no test files]',
  '\x1b[32mok\x1b[0m  \tferry/wire\t0.288s',
  '\x1b[2m4 packages, 0 failures\x1b[0m',
].join('\n')

/** The turn as pairs of event type and data. The type `ask` is a question: the mock hub waits for its answer. */
export function* tour(turn) {
  const id = (name) => `${name}-${turn}`
  const tool = (name, fields) => ['tool_call', { tool_call_id: id(name), ...fields }]
  const update = (name, fields) => ['tool_call_update', { tool_call_id: id(name), ...fields }]
  yield* chunks(
    'agent_thought',
    id('thought'),
    'The retries come in step. Let me look at how `Wait` is made, and who calls it, before I change anything.',
  )
  yield ['plan', { entries: plan(0) }]
  for (const file of ['retry.go', 'client.go', 'retry_test.go']) {
    yield tool(`read-${file}`, {
      title: 'Read',
      kind: 'read',
      status: 'pending',
      locations: [{ path: `${workspace}/${file}` }],
    })
    yield update(`read-${file}`, { status: 'completed' })
  }
  yield tool('grep', {
    title: 'grep "Wait("',
    kind: 'search',
    status: 'completed',
    locations: [{ path: workspace }],
    content: said('client.go:88: time.Sleep(Wait(n))'),
  })
  yield* chunks(
    'agent_message',
    id('m1'),
    'Every client waits exactly `n` seconds, so after an outage they all return together. I will spread them out.',
  )
  yield ['plan', { entries: plan(1) }]
  const edit = {
    title: 'Edit retry.go',
    kind: 'edit',
    locations: [{ path: `${workspace}/retry.go` }],
    content: [{ type: 'diff', path: `${workspace}/retry.go`, oldText: goBefore, newText: goAfter }],
  }
  yield tool('edit', { ...edit, status: 'pending' })
  yield [
    'ask',
    {
      permission_id: id('perm-edit'),
      tool_call_id: id('edit'),
      title: 'Edit retry.go',
      options: options(),
      tool_call: { toolCallId: id('edit'), ...edit },
    },
  ]
  yield update('edit', { status: 'completed' })
  yield ['plan', { entries: plan(2) }]
  const run = {
    title: 'go test -race ./...',
    kind: 'execute',
    raw_input: { command: 'go test -race ./...', cwd: workspace },
  }
  yield tool('test', { ...run, status: 'in_progress' })
  const lines = output.split('\n')
  for (let n = 1; n <= lines.length; n++)
    yield update('test', { content: said(lines.slice(0, n).join('\n')) })
  yield update('test', { status: 'completed', raw_output: { metadata: { exit: 0 } } })
  yield ['plan', { entries: plan(3) }]
  yield* chunks('agent_message', id('m2'), answer)
  yield [
    'usage',
    { used: 18_400 + turn * 900, size: 200_000, cost: { amount: 0.11 * turn, currency: 'USD' } },
  ]
}

function plan(done) {
  return [
    'Find out why retries come in step',
    'Use full jitter in Wait',
    'Run the tests',
    'Say what changed',
  ].map((content, i) => ({
    content,
    priority: i === 1 ? 'high' : 'medium',
    status: i < done ? 'completed' : i === done ? 'in_progress' : 'pending',
  }))
}

const said = (text) => [{ type: 'content', content: { type: 'text', text } }]

const options = () => [
  { option_id: 'once', name: 'Allow once', kind: 'allow_once' },
  { option_id: 'always', name: 'Allow edits in this session', kind: 'allow_always' },
  { option_id: 'no', name: 'Reject', kind: 'reject_once' },
]

export function* chunks(type, message_id, text) {
  for (const part of text.match(/[\s\S]{1,24}/g) ?? []) yield [type, { message_id, text: part }]
}

/** The sessions the mock hub starts with. */
export const sessions = [
  {
    id: '20260221-140307-9f3a11c0',
    name: 'Spread out retries after an outage',
    agent: 'claude',
    workspace,
    status: 'idle',
    turns: 1,
    pinned: true,
  },
  {
    id: '20260221-120101-11aa22bb',
    name: 'Flaky upload test on CI',
    agent: 'opencode',
    workspace: '/home/dev/src/harbour',
    status: 'running',
    last: 'Running the suite a third time with -count=20',
  },
  {
    id: '20260221-093000-33cc44dd',
    name: 'Drop the old config format',
    agent: 'claude',
    workspace: '/home/dev/src/harbour',
    status: 'needs_you',
    last: 'rm -r internal/config/v1',
    ask: true,
  },
  {
    id: '20260220-170000-55ee66ff',
    name: 'Write the release notes for 2.4',
    agent: 'demo',
    workspace: '/home/dev/src/notes',
    status: 'idle',
    last: 'Done. The notes are in CHANGES.md.',
  },
  {
    id: '20260219-080000-77aa88bb',
    name: 'Why is the index 3 GB?',
    agent: 'claude',
    workspace: '/home/dev/src/lake',
    status: 'idle',
    last: 'Two thirds of it are tombstones that compaction never visits.',
  },
  {
    id: '20260217-080000-99aa00bb',
    name: 'Port the importer to the new API',
    agent: 'opencode',
    workspace: '/home/dev/src/lake',
    status: 'ended',
    last: 'The agent ended: crashed (exit 1)',
  },
]
