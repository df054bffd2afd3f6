// An agent that says large things: `table` a table of 300 rows and 30 columns, `line` a command
// whose output is one line of 100,000 characters.
import { createInterface } from 'node:readline'

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const update = (update) => write({ method: 'session/update', params: { sessionId: 'large', update } })

const play = {
  table() {
    const row = (cell) => `|${Array.from({ length: 30 }, (_, column) => cell(column)).join('|')}|\n`
    const rows = Array.from({ length: 300 }, (_, at) => row((column) => `cell ${at + 1}.${column + 1}`))
    const text = row((column) => `Column ${column + 1}`) + row(() => '---') + rows.join('')
    update({ sessionUpdate: 'agent_message_chunk', messageId: 't', content: { type: 'text', text } })
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

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: 'large' } })
  else if (method === 'session/prompt') {
    play[params.prompt[0].text]()
    write({ id, result: { stopReason: 'end_turn' } })
  } else write({ id, error: { code: -32601, message: 'not offered' } })
})
