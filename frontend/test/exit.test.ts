import { expect, it } from 'vitest'
import { after, emptyFeed, find } from '../src/state/feed'
import { toolKey } from '../src/state/itemof'
import { toolView } from '../src/state/tool'
import { exitOf } from '../src/ui/feed/exit'
import type { ToolCallData } from '../src/wire/gen'
import { Script } from './support/script'

function exit(
  tool: Partial<ToolCallData>,
  ended?: { code?: number; signal?: string },
): number | string | null {
  const script = new Script().add('user_prompt', { prompt_id: 'p', text: 'go' })
  script.add('tool_call', { tool_call_id: 'c', title: 'make', kind: 'execute', status: 'completed', ...tool })
  if (ended) script.add('terminal_output', { terminal_id: 't', data: 'ok', exit: ended })
  const feed = after(emptyFeed(0), script.events)
  return exitOf(toolView(find(feed, 'tool', toolKey(1, 'c'))!), 1, feed)
}
const terminal = { content: [{ type: 'terminal', terminalId: 't' }] }

it.each([
  ['the code of its result, also a good one', 0, { raw_output: { exit_code: 0 } }, undefined],
  ['the code of its terminal', 2, terminal, { code: 2 }],
  ['the signal that ended it', 'SIGKILL', terminal, { signal: 'SIGKILL' }],
  ['nothing while it runs', null, terminal, undefined],
  ['nothing where a code is another thing', null, { kind: 'fetch', raw_output: { code: 200 } }, undefined],
] as const)('a command shows %s', (_, shown, tool, ended) =>
  expect(exit(tool as Partial<ToolCallData>, ended)).toBe(shown),
)
