// The settings: preferences of this device, paired devices, channels, and the hub.
import type { Channel, Delivery, Device, ResumeCounts } from '../../src/wire/gen'
import { sessionId } from '../../test/support/script'
import { connected, frame, goldenFrame, link, list, opened } from './frames'
import type { State } from './state'

const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

const device = (id: string, name: string, over: Partial<Device> = {}): Device => ({
  id,
  name,
  kind: 'device',
  scope: 'owner',
  created_at: ago(900),
  expires_at: '2026-08-20T14:03:07Z',
  ...over,
})
const devices = [
  device('d1', 'Safari on iPhone', { last_used: ago(30) }),
  device('d2', 'Chrome on Linux', { current: true, last_used: ago(0.2) }),
  device('d3', 'The tablet in the kitchen \u202ewhich everybody uses and nobody charges'),
  device('t1', 'nightly', { kind: 'token', last_used: ago(3) }),
  device('t2', '', {
    kind: 'token',
    scope: 'viewer',
    session_id: sessionId,
    created_at: ago(0.5),
    expires_at: undefined,
  }),
]

/** A pairing link that expires two minutes after the call. Its code is made up. */
const pairing = (loopback: boolean, life = 120) => ({
  url: loopback ? 'http://127.0.0.1:22433/#pair=k3v9' : 'https://hub.example/#pair=k3v9',
  expires_in: life,
  loopback,
  qr: Array.from({ length: 25 }, (_, y) =>
    Array.from({ length: 25 }, (_, x) => ((x * y + x + 3 * y) % 3 === 0 ? '1' : '0')).join(''),
  ),
})
const adding = (name: string, link: () => Promise<unknown>) =>
  screen(name, {
    hub: () => ({ devices: async () => devices, ask: <T>() => link() as Promise<T> }),
    does: [{ press: '.add button' }],
  })

const delivered = (over: Partial<Delivery>): Delivery => ({
  id: 'd1',
  target: 'desk',
  kind: 'permission',
  at: ago(2),
  outcome: 'delivered',
  attempts: 1,
  ...over,
})
const channels: Channel[] = [
  {
    name: 'desk',
    type: 'webhook',
    host: 'hooks.example',
    events: ['permission', 'failed'],
    outcomes: [
      delivered({ kind: 'failed', outcome: 'failed', attempts: 5, detail: 'it answered 503' }),
      delivered({ at: ago(30) }),
    ],
  },
  {
    name: 'the-phone-of-whoever-is-on-call-this-week-and-the-next',
    type: 'ntfy',
    host: 'ntfy.example',
    events: ['permission', 'form', 'turn_over', 'failed', 'interrupted'],
    muted: [sessionId],
    quiet: { from: '22:00', to: '07:00', zone: 'Europe/Berlin' },
    outcomes: [],
  },
]

const interruptions: ResumeCounts = {
  interrupted: { streaming_llm: 9, executing_tools: 3 },
  resumed: { streaming_llm: { server: 6, local: 2 }, executing_tools: { server: 1 } },
  dismissed: 2,
  superseded: 1,
  succeeded: 7,
  failed: 1,
  median_ms: 252_000,
}

const screen = (name: string, over: Partial<State> = {}): State => ({
  name: `settings${name}`,
  path: '/settings',
  messages: opened,
  hub: () => ({ devices: async () => devices }),
  ...over,
})
/** A device that is null, which no hub sends: the device list throws. */
const broken = [null as unknown as Device]
const failed = () => Promise.reject(new Error('The hub cannot be reached.'))

export const settings: State[] = [
  screen(''),
  screen(', not connected', { messages: [list, link({ phase: 'dialling' })] }),
  screen(', connection lost', { messages: [...opened, link({ phase: 'offline' })] }),
  screen(', unknown messages', { messages: [...opened, { kind: 'unknown_frame' }] }),
  screen(', devices loading', { hub: () => ({ devices: () => new Promise(() => {}) }) }),
  screen(', devices failed', { hub: () => ({ devices: failed }) }),
  screen(', no devices', { hub: () => ({ devices: async () => [] }) }),
  screen(', not an owner', {
    messages: [link(), connected, frame({ ...goldenFrame('connected'), scope: 'viewer' }), list],
  }),
  screen(', channels and what became of their messages', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        ({ [path === '/api/channels' ? 'channels' : '']: channels }) as T,
    }),
    does: [{ press: '[data-channel=desk] summary' }],
  }),
  screen(', numbers of the hub', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        (path === '/api/health' ? { interruptions } : { channels: [] }) as T,
    }),
  }),
  screen(', no numbers of the hub', {
    hub: () => ({
      devices: async () => [],
      ask: async <T>(_: string, path: string) =>
        path === '/api/health' ? failed() : ({ channels: [] } as T),
    }),
  }),
  adding(', a device is added', async () => pairing(false)),
  adding(', a device is added by a loopback address', async () => pairing(true)),
  adding(', the link to add a device has expired', async () => pairing(false, -1)),
  adding(', no link to add a device', failed),
  screen(', a device renamed', { does: [{ press: '[data-device=d1] [data-does=rename] button' }] }),
  screen(', a device revoked', { does: [{ press: '[data-device=d1] [data-does=end] button' }] }),
  screen(', a token revoked', { does: [{ press: '[data-device=t1] [data-does=end] button' }] }),
  screen(', signing out', { does: [{ press: '[data-device=d2] [data-does=end] button' }] }),
  screen(', a device not revoked', {
    hub: () => ({ devices: async () => devices, revokeDevice: failed }),
    does: [{ press: '[data-device=d1] [data-does=end] button' }, { press: '[data-device=d1] .danger' }],
  }),
  screen(', it throws', { hub: () => ({ devices: async () => broken }) }),
  screen(', it threw and was tried again', {
    hub: () => {
      let asked = 0
      return { devices: async () => (asked++ === 0 ? broken : devices) }
    },
    does: [{ press: '[data-again]' }],
  }),
]
