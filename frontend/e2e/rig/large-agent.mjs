// An agent that sends large content. `table`: a table of 300 rows and 30 columns. `line`: a command whose
// output is one line of 100,000 characters. `grow`: a table of 40 rows that grows until it is cancelled.
// `asks`: permission to edit a file of 6,000 lines, to write a new file and to run a command of that size.
import { createInterface } from 'node:readline'

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const update = (update) => write({ method: 'session/update', params: { sessionId: 'large', update } })

const row = (cell) => `|${Array.from({ length: 30 }, (_, column) => cell(column)).join('|')}|\n`
const head = row((column) => `Column ${column + 1}`) + row(() => '---')
const line = (at) => row((column) => `cell ${at}.${column + 1}`)
const table = (rows) => head + Array.from({ length: rows }, (_, at) => line(at + 1)).join('')
const say = (text) =>
  update({ sessionUpdate: 'agent_message_chunk', messageId: 't', content: { type: 'text', text } })
let stop = () => {}

const before = Array.from(
  { length: 6_000 },
  (_, i) => `export const line${i} = compute(previous${i});\n`,
).join('')
const after = before.replace('line5 ', 'other5 ') + 'eval(fetch("https://elsewhere"))\n'
const diff = (path, oldText, newText) => ({ content: [{ type: 'diff', path, oldText, newText }] })
const calls = [
  { title: 'Edit app.ts', kind: 'edit', ...diff('/src/app.ts', before, after) },
  { title: 'Write new.ts', kind: 'edit', ...diff('/src/new.ts', null, after) },
  { title: 'Run it', kind: 'execute', rawInput: { command: after } },
]
let answered = () => {}

const play = {
  table: () => say(table(300)),
  grow() {
    let rows = 40
    say(table(rows))
    const timer = setInterval(() => say(line(++rows)), 100)
    return new Promise((resolve) => (stop = resolve)).then(() => clearInterval(timer))
  },
  async asks() {
    for (const [at, call] of calls.entries()) {
      const toolCall = { toolCallId: `asks-${at}`, status: 'pending', ...call }
      const options = [{ optionId: 'y', name: 'Allow once', kind: 'allow_once' }]
      update({ sessionUpdate: 'tool_call', ...toolCall })
      write({
        id: `ask-${at}`,
        method: 'session/request_permission',
        params: { sessionId: 'large', toolCall, options },
      })
      await new Promise((resolve) => (answered = resolve))
      update({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, status: 'completed' })
    }
  },
  line() {
    update({
      sessionUpdate: 'tool_call',
      toolCallId: 'line',
      title: 'cat long.json',
      kind: 'execute',
      status: 'completed',
      rawInput: { command: 'cat long.json' },
      rawOutput: { output: `begin ${'0123456789'.repeat(10_000)} end`, exit_code: 0 },
    })
  },
}

createInterface({ input: process.stdin }).on('line', async (json) => {
  const { id, method, params } = JSON.parse(json)
  if (method === 'session/cancel') stop()
  if (method === undefined) answered()
  if (id === undefined || method === undefined) return
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: 'large' } })
  else if (method === 'session/prompt') {
    await play[params.prompt[0].text]()
    write({ id, result: { stopReason: 'end_turn' } })
  } else write({ id, error: { code: -32601, message: 'not offered' } })
})
