// An agent whose prompts are scripts for it. A prompt is a JSON list of steps: a session update to
// send, or { ask } for a permission request, whose answer it waits for. During a turn it also sends
// the updates in the file given as its argument.
import { readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'

const meanwhile = process.argv[2]
const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const update = (update) => write({ method: 'session/update', params: { sessionId: 'told', update } })

let asked = 0
let answered = null
async function play(list) {
  for (const { ask, ...sent } of list) {
    if (!ask) update(sent)
    else {
      const params = { sessionId: 'told', ...ask }
      write({ id: `ask-${++asked}`, method: 'session/request_permission', params })
      await new Promise((resolve) => (answered = resolve))
      answered = null
    }
  }
}

if (meanwhile) {
  setInterval(() => {
    if (!answered) return // other sessions have agents of their own
    try {
      const list = JSON.parse(readFileSync(meanwhile, 'utf8'))
      rmSync(meanwhile)
      for (const sent of list) update(sent)
    } catch {
      // The file does not exist, or is not completely written yet.
    }
  }, 20).unref()
}

createInterface({ input: process.stdin }).on('line', async (json) => {
  const { id, method, params } = JSON.parse(json)
  if (method === undefined) answered?.()
  if (id === undefined || method === undefined) return
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: 'told' } })
  else if (method === 'session/prompt') {
    await play(JSON.parse(params.prompt[0].text))
    write({ id, result: { stopReason: 'end_turn' } })
  } else write({ id, error: { code: -32601, message: 'not offered' } })
})
