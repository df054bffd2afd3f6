// The agent `told`, whose prompts are scripts for it, and the steps of such a script.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Hub } from './hub.ts'

export type Told = Record<string, unknown>

const script = join(import.meta.dirname, 'told-agent.mjs')
const file = (home: string) => join(home, 'meanwhile.json')

/** The agent `told`, for the options of a hub. */
export const agents = (home: string) => ({ told: [process.execPath, script, file(home)] })

/** Makes the agent send these updates during its current turn. */
export function meanwhile(hub: Hub, ...updates: Told[]): void {
  writeFileSync(file(hub.home), JSON.stringify(updates))
}

/** Makes the agent do these steps in order, and waits until the turn has ended. */
export function turn(hub: Hub, session: string, ...list: Told[]): Promise<void> {
  return hub.turn(session, JSON.stringify(list))
}

let messages = 0
export function say(text: string): Told {
  const messageId = `m${++messages}`
  return { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }
}

let calls = 0
export function call(title: string, over: Told = {}): Told {
  const toolCallId = `c${++calls}`
  return { sessionUpdate: 'tool_call', toolCallId, title, kind: 'other', status: 'completed', ...over }
}
