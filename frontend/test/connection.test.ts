// @vitest-environment happy-dom
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { Connection } from '../src/net/connection'
import type { LinkState } from '../src/state/link'
import { subprotocol } from '../src/wire/frames'

/** A socket as in a page: an error without a listener is ignored, and a close event follows it. */
class PageSocket extends WebSocket {
  constructor(url: string, protocol: string[]) {
    super(url, protocol)
    this.on('error', () => {})
  }
}

let hub: WebSocketServer
let connection: Connection
let phases: LinkState['phase'][]
let tooLarge: number
let adopted: number
let frames: string[]

beforeEach(async () => {
  vi.stubGlobal('WebSocket', PageSocket)
  hub = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => subprotocol })
  await once(hub, 'listening')
  phases = []
  tooLarge = adopted = 0
  frames = []
  connection = new Connection({
    url: () => `ws://127.0.0.1:${(hub.address() as AddressInfo).port}`,
    protocols: () => [subprotocol],
    adopted: () => void adopted++,
    frame: (frame) => frames.push(frame.type),
    unknown: () => {},
    tooLarge: () => void tooLarge++,
    link: (link) => phases.push(link.phase),
    health: () => Promise.resolve(null),
    overHTTP: () => Promise.reject(new Error('not here')),
  })
})
afterEach(() => {
  connection.stop()
  for (const client of hub.clients) client.terminate()
  hub.close()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const answer = () =>
  hub.on('connection', (socket) =>
    socket.send(JSON.stringify({ type: 'connected', protocol: 1, heartbeat_ms: 10_000, client_id: 'c' })),
  )

test('a page opened without a network says so before any dial has failed', () => {
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  connection.start()
  expect(phases).toEqual(['offline'])
})

test('a wake without a network is not shown as a connection attempt', () => {
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  connection.start()
  connection.wake()
  connection.wake(true)
  expect(phases).toEqual(['offline'])
})

test('a page opened in the background dials once, and again when it is seen', async () => {
  const seen = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden')
  let dials = 0
  hub.on('connection', (socket) => {
    dials++
    socket.terminate()
  })
  connection.start()
  // The second "waiting" is the due retry, which did not dial.
  await expect.poll(() => phases).toEqual(['dialling', 'waiting', 'waiting'])
  expect(dials).toBe(1)
  seen.mockReturnValue('visible')
  document.dispatchEvent(new Event('visibilitychange'))
  await expect.poll(() => dials).toBeGreaterThan(1)
})

test('a hub that answers outweighs the device saying it has no network', async () => {
  answer()
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  connection.start()
  await expect.poll(() => phases).toEqual(['offline', 'open'])
})

test('if the network and the connection are lost, "offline" is shown before the hub is given up', async () => {
  // The hub accepts the first connection, and answers no ping.
  hub.once('connection', (socket) =>
    socket.send(JSON.stringify({ type: 'connected', protocol: 1, heartbeat_ms: 10_000, client_id: 'c' })),
  )
  connection.start()
  await expect.poll(() => phases).toEqual(['dialling', 'open'])
  dispatchEvent(new Event('offline'))
  await expect.poll(() => phases).toEqual(['dialling', 'open', 'checking', 'offline'])
})

test('with a network the first phase is "dialling"', async () => {
  answer()
  connection.start()
  await expect.poll(() => phases).toEqual(['dialling', 'open'])
})

test('a socket closed because of a message sent on it reports that, and the connection is dialled again', async () => {
  answer()
  let dials = 0
  hub.on('connection', (socket) => {
    if (++dials === 1) socket.on('message', () => socket.close(1009))
  })
  connection.start()
  await expect.poll(() => phases.at(-1)).toBe('open')
  expect(connection.send({ type: 'ping', nonce: 'n' })).toBe(true)
  await expect.poll(() => [tooLarge, dials, phases.at(-1)]).toEqual([1, 2, 'open'])
})

test.each([
  ['window', 'pageshow'],
  ['window', 'focus'],
  ['window', 'online'],
  ['document', 'visibilitychange'],
  ['document', 'resume'],
] as const)('of the %s, %s is a reason to ask whether the hub is there', async (of, name) => {
  answer()
  const asked: string[] = []
  hub.on('connection', (socket) =>
    socket.on('message', (data) => asked.push((JSON.parse(String(data)) as { type: string }).type)),
  )
  connection.start()
  await expect.poll(() => phases.at(-1)).toBe('open')
  expect(asked).toEqual([])
  ;(of === 'window' ? window : document).dispatchEvent(new Event(name))
  await expect.poll(() => asked).toEqual(['ping'])
})

test.each([
  ['ahead: the page slept', 60_000],
  ['back: no age is known any more', -3_600_000],
])('with a clock that jumped %s, a second socket is dialled at once', async (_, by) => {
  answer()
  let dials = 0
  hub.on('connection', () => void dials++)
  const ticks: (() => void)[] = []
  vi.stubGlobal('setInterval', (tick: () => void) => ticks.push(tick))
  connection.start()
  vi.unstubAllGlobals()
  vi.stubGlobal('WebSocket', PageSocket)
  await expect.poll(() => phases.at(-1)).toBe('open')
  ticks[0]!()
  expect(connection.socketCount).toBe(1)
  const now = Date.now.bind(Date)
  vi.spyOn(Date, 'now').mockImplementation(() => now() + by)
  ticks[0]!()
  await expect.poll(() => [dials, adopted]).toEqual([2, 2])
})

test('frames of a second socket are handled once it has become the connection', async () => {
  const sockets: WebSocket[] = []
  hub.on('connection', (socket) => sockets.push(socket))
  const say = (at: number, type: string) =>
    sockets[at]!.send(
      JSON.stringify({ type, protocol: 1, heartbeat_ms: 10_000, client_id: 'c', session_id: 's' }),
    )
  connection.start()
  await expect.poll(() => sockets.length).toBe(1)
  say(0, 'connected')
  await expect.poll(() => frames).toEqual(['connected'])
  connection.wake(true)
  await expect.poll(() => sockets.length).toBe(2)
  say(1, 'session_gone')
  say(1, 'connected')
  say(1, 'heartbeat')
  await expect.poll(() => frames).toEqual(['connected', 'connected', 'heartbeat'])
  expect(adopted).toBe(2)
})
