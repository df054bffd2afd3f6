// An agent that sends the texts of corpus.json in everything it can say: every field
// that reaches a screen carries each text once.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const corpus = JSON.parse(readFileSync(new URL('corpus.json', import.meta.url), 'utf8'))
const everything = corpus.join('\n')
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${'parent.rig.ran.push(1)'}"><script>parent.rig.ran.push(2)</script></svg>`
const session = 'hostile'

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')
const update = (update) => write({ method: 'session/update', params: { sessionId: session, update } })
const text = (text) => ({ type: 'text', text })

/** The resolvers of requests that wait for the hub's answer, by request id. */
const waiting = new Map()
let asked = 0
function ask(params) {
  const id = `ask-${++asked}`
  write({ id, method: 'session/request_permission', params: { sessionId: session, ...params } })
  return new Promise((resolve) => waiting.set(id, resolve))
}

async function play() {
  update({ sessionUpdate: 'session_info_update', title: corpus[4] })
  update({
    sessionUpdate: 'available_commands_update',
    availableCommands: corpus
      .slice(0, 6)
      .map((name) => ({ name, description: everything, input: { hint: name } })),
  })
  update({ sessionUpdate: 'current_mode_update', currentModeId: corpus[4] })
  update({
    sessionUpdate: 'plan',
    entries: corpus.map((content) => ({ content, priority: 'high', status: 'in_progress' })),
  })
  corpus.forEach((words, i) => {
    update({ sessionUpdate: 'agent_thought_chunk', messageId: `t${i}`, content: text(words) })
    update({ sessionUpdate: 'agent_message_chunk', messageId: `m${i}`, content: text(words) })
    const kind = ['edit', 'execute', 'read', 'search', words][i % 5]
    update({
      sessionUpdate: 'tool_call',
      toolCallId: `c${i}`,
      title: words,
      kind,
      status: ['completed', 'failed'][i % 2],
      locations: [{ path: words, line: 1 }],
      rawInput: { command: words, path: words, [words]: words },
      rawOutput: { output: words, exit_code: i % 3 },
      content: [
        { type: 'content', content: text(words) },
        { type: 'diff', path: words, oldText: words, newText: words + '\n' + words },
      ],
    })
  })
  update({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'image', mimeType: 'image/svg+xml', data: Buffer.from(svg).toString('base64') },
  })
  update({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'image', mimeType: 'image/png"onerror="window.rig.ran.push(3)', data: 'x' },
  })
  update({
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'resource_link', uri: 'javascript:window.rig.ran.push(4)', name: corpus[4] },
  })
  update({ sessionUpdate: corpus[4], [corpus[0]]: everything })
  for (const content of [[], [{ type: 'diff', path: corpus[4], newText: everything }]]) {
    await ask({
      toolCall: {
        toolCallId: `p${asked}`,
        title: everything,
        kind: 'execute',
        rawInput: { command: everything, cwd: corpus[4] },
        content,
      },
      options: [
        { optionId: 'yes', name: `Go on ${corpus[4]}`, kind: 'allow_once' },
        { optionId: corpus[0], name: everything.slice(0, 400), kind: 'reject_once' },
      ],
    })
  }
}

/** Sends deceptive names, with reordering and invisible characters, in every field where an agent may give a name. */
async function turned() {
  const name = 'a\u202egpj.exe'
  const command = `cat ${name} \u200b/`
  update({ sessionUpdate: 'session_info_update', title: name })
  update({ sessionUpdate: 'agent_message_chunk', messageId: 'm', content: text(`I open \`${name}\` now.`) })
  const call = {
    toolCallId: 'turned',
    title: name,
    kind: 'execute',
    locations: [{ path: `/tmp/${name}`, line: 1 }],
    rawInput: { command, cwd: `/tmp/${name}` },
  }
  update({ sessionUpdate: 'tool_call', ...call, status: 'pending' })
  await ask({ toolCall: call, options: [{ optionId: 'yes', name: `Go on ${name}`, kind: 'allow_once' }] })
  update({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'turned',
    status: 'completed',
    content: [{ type: 'content', content: text(`read ${name}`) }],
    rawOutput: { exit_code: 0 },
  })
}

const answers = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: {},
    agentInfo: { name: corpus[4], title: corpus[4], version: corpus[4] },
  }),
  'session/new': () => ({
    sessionId: session,
    modes: {
      currentModeId: corpus[4],
      availableModes: [4, 0].map((i) => ({ id: corpus[i], name: corpus[i] })),
    },
  }),
  'session/prompt': async ({ prompt }) => {
    await (prompt?.[0]?.text === 'turned' ? turned() : play())
    return { stopReason: 'end_turn' }
  },
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line)
  if (message.method === undefined) return waiting.get(message.id)?.(message.result)
  const answer = answers[message.method]
  if (message.id === undefined) return
  if (answer) write({ id: message.id, result: await answer(message.params) })
  else write({ id: message.id, error: { code: -32601, message: corpus[4] } })
})
