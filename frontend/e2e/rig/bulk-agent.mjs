// An agent for measurements. `rows N` sends N messages at once. `grow N MS` sends
// one message of N KB and then appends a word to it every MS milliseconds, 1,000 times.
import { createInterface } from 'node:readline'

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const say = (messageId, text) =>
  write({
    method: 'session/update',
    params: {
      sessionId: 'bulk',
      update: { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } },
    },
  })
const drained = () =>
  new Promise((resolve) =>
    process.stdout.writableNeedDrain ? process.stdout.once('drain', resolve) : resolve(),
  )

async function play(prompt) {
  const [verb, n, ms] = prompt.split(' ')
  if (verb === 'rows') {
    for (let i = 1; i <= Number(n); i++) {
      say(`m${i}`, `Message ${i} says **something** of a line or two, with \`code\` in it, and then ends.`)
      if (i % 200 === 0) await drained()
    }
  } else if (verb === 'grow') {
    say('g', 'A paragraph of the long message.\n\n'.repeat((Number(n) * 1024) / 34))
    for (let i = 0; i < 1000; i++) {
      await new Promise((resolve) => setTimeout(resolve, Number(ms)))
      say('g', `word ${i} `)
    }
  }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  if (method === 'initialize') write({ id, result: { protocolVersion: 1, agentCapabilities: {} } })
  else if (method === 'session/new') write({ id, result: { sessionId: 'bulk' } })
  else if (method === 'session/prompt') {
    await play(params.prompt[0].text)
    write({ id, result: { stopReason: 'end_turn' } })
  } else write({ id, error: { code: -32601, message: 'not here' } })
})
