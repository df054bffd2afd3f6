import { expect, it } from 'vitest'
import { inOrder } from '../src/state/devices'
import type { Device } from '../src/wire/gen'
import { lastUsed, mayDo } from '../src/ui/settings/devicewords'

const now = Date.parse('2026-02-21T14:00:00Z')
const device = (id: string, over: Partial<Device> = {}): Device => ({
  id,
  kind: 'device',
  name: id,
  scope: 'owner',
  created_at: '2026-02-01T12:00:00Z',
  ...over,
})

it('this device comes first, then browsers, then tokens, each used last first', () => {
  const devices = [
    device('token', { kind: 'token', last_used: '2026-02-21T13:59:00Z' }),
    device('old'),
    device('used', { last_used: '2026-02-20T12:00:00Z' }),
    device('this', { current: true }),
  ]
  expect(inOrder(devices).map((d) => d.id)).toEqual(['this', 'used', 'old', 'token'])
})

it('the time of last use is shown no finer than the hub records it', () => {
  expect(lastUsed(device('d', { last_used: '2026-02-21T13:20:00Z' }), now)).toBe('active in the last hour')
  expect(lastUsed(device('d', { last_used: '2026-02-19T13:20:00Z' }), now)).toMatch(/^last active on /)
  expect(lastUsed(device('d', { created_at: '2026-02-21T13:20:00Z' }), now)).toBe('paired 40 min ago')
  expect(lastUsed(device('d', { kind: 'token' }), now)).toMatch(/^not used since it was created /)
})

it('a scope of one session is named', () => {
  expect(mayDo(device('d'))).toBe('full access')
  expect(mayDo(device('d', { scope: 'viewer', session_id: 's' }))).toBe('read-only in')
})
