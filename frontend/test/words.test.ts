import { expect, it } from 'vitest'
import { deviceName } from '../src/net/devicename'
import { after, emptyFeed } from '../src/state/feed'
import { rowsOf } from '../src/state/rows'
import { clock } from '../src/text/time'
import { Script } from './support/script'

it.each([
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Safari/604.1',
    'Safari on iPhone',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36', 'Chrome on Linux'],
])('a device is named by its own system: %s', (agent, name) => {
  expect(deviceName(agent)).toBe(name)
})

it('a time of day has no leading zero where the locale has none', () => {
  expect(clock('2026-11-22T09:05:00')).not.toMatch(/^0/)
})

it('a terminal that a call refers to is shown in the call only', () => {
  const events = new Script()
    .add('user_prompt', { prompt_id: 'p', text: 'go' })
    .add('tool_call', {
      tool_call_id: 'c',
      title: 'Run',
      kind: 'execute',
      content: [{ type: 'terminal', terminalId: 't' }],
    } as never)
    .add('terminal_output', { terminal_id: 't', data: 'out' })
    .add('terminal_output', { terminal_id: 'other', data: 'out' }).events
  const kinds = rowsOf(after(emptyFeed(0), events)).map((r) => (r.kind === 'item' ? r.item.kind : r.kind))
  expect(kinds).toEqual(['prompt', 'tool', 'terminal'])
})
