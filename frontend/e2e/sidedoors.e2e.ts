// Attacks from the same host: from a server on another port, from a page whose name resolves to the
// hub, and from a program on the hub's own port while the hub is down.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

/** A request that another program received and can replay. */
interface Taken {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

/** A program on a port of the person's machine that records the requests it gets. */
class Thief {
  readonly taken: Taken[] = []
  readonly #server: Server

  private constructor(reply: (path: string) => [status: number, body: string]) {
    this.#server = createServer(async (incoming, answer) => {
      const parts: Buffer[] = []
      for await (const part of incoming) parts.push(part as Buffer)
      this.#take(incoming, Buffer.concat(parts).toString())
      const [status, body] = reply(incoming.url!)
      const kind = status === 200 ? 'text/html' : 'application/json'
      answer.writeHead(status, { 'content-type': kind, connection: 'close' }).end(body)
    })
    this.#server.on('upgrade', (incoming: IncomingMessage, socket) => {
      this.#take(incoming, '')
      socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
  }

  static async listen(reply: (path: string) => [number, string], port = 0): Promise<Thief> {
    const thief = new Thief(reply)
    thief.#server.listen(port, '127.0.0.1')
    await once(thief.#server, 'listening')
    return thief
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #take({ method, url, headers }: IncomingMessage, body: string): void {
    this.taken.push({ method: method!, path: url!, headers, body })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Sends a request and returns the status of the answer. */
async function send(hub: Hub, { method, path, headers, body }: Taken): Promise<number> {
  const sent = request(hub.origin + path, { method, headers })
  const answered = Promise.race([
    once(sent, 'response').then(([answer]) => (answer as IncomingMessage).resume().statusCode!),
    once(sent, 'upgrade').then(() => 101),
  ])
  sent.end(body)
  return answered.finally(() => sent.destroy())
}

describe('a paired browser', () => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let session: string
  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    session = await hub.newSession('Guarded')
    screen = await device.watch(session)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('sends its cookie to a server on another port, where it is useless', async () => {
    const server = await Thief.listen(() => [200, '<!doctype html><title>dev</title>'])
    const page = await device.browser.window()
    await page.goto(server.origin)
    const { cookie } = server.taken[0]!.headers
    expect(cookie, 'cookies know no port').toContain('abide-')
    const host = new URL(hub.origin).host
    const forged = { host, cookie, origin: hub.origin, 'sec-fetch-site': 'same-origin' }
    const upgrade = {
      ...forged,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': 'abide.v1',
    }
    const asked = (path: string, headers: Taken['headers'], method = 'GET') =>
      send(hub, { method, path, headers, body: '' })
    expect(await asked('/api/sessions', forged)).toBe(401)
    expect(await asked('/api/sessions', forged, 'POST')).toBe(401)
    expect(await asked(`/api/sessions/${session}/ws`, upgrade)).toBe(401)

    // A cookie of the same name that the server sets does not sign the browser out.
    const name = /abide-[^=;]+/.exec(cookie!)![0]
    await page.evaluate((name) => (document.cookie = `${name}=evil; path=/api; max-age=1000`), name)
    await page.close()
    await screen.page.reload()
    await screen.page.locator('html[data-link=open]').waitFor()
    await server.stop()
  })

  test('gives no access to a page whose name resolves to the hub', async () => {
    // The agent's start writes events, too, so only sessions and events that a page could cause are compared.
    const sessions = async () => {
      const { sessions } = await hub.api<{ sessions: { id: string }[] }>('GET', '/api/sessions')
      return sessions.map(({ id }) => id)
    }
    const before = await sessions()
    const page = await device.browser.window()
    const origin = `http://rebound.test:${new URL(hub.origin).port}`
    // The page was loaded from its own server, before its name resolved to the hub.
    const own = `${origin}/own`
    await page.route(own, (route) => route.fulfill({ contentType: 'text/html', body: '<title>page</title>' }))
    await page.goto(own)
    const got = await page.evaluate(async (session) => {
      const send = async (path: string, body?: object) => {
        const headers = { 'content-type': 'application/json' }
        const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
        return (await fetch(path, init)).status
      }
      const socket = new Promise<string>((done) => {
        const ws = new WebSocket(`ws://${location.host}/api/ws`, 'abide.v1')
        ws.onopen = () => done('open')
        ws.onerror = () => done('refused')
      })
      return [
        await send('/'),
        await send('/api/ready'),
        await send('/api/sessions'),
        await send(`/api/sessions/${session}/events`),
        await send('/api/sessions', { agent: 'demo' }),
        await send(`/api/sessions/${session}/prompt`, { prompt_id: 'p', text: 'rebound' }),
        await send('/api/pair', { code: 'aaaaaaaaaaaaaaaa', page_key: '' }),
        await socket,
      ]
    }, session)
    expect(got).toEqual([421, 421, 421, 421, 421, 421, 421, 'refused'])
    expect(await sessions()).toEqual(before)
    const log = await hub.api('GET', `/api/sessions/${session}/events`)
    expect(JSON.stringify(log)).not.toContain('rebound')
    await page.close()
  })

  test('shows and saves a file by a signed address', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const attached = await fetch(`${hub.origin}/api/sessions/${session}/attachments?name=dot.png`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hub.token}`, 'content-type': 'image/png' },
      body: Buffer.from(png, 'base64'),
    })
    const file: unknown = await attached.json()
    await hub.api('POST', `/api/sessions/${session}/prompt`, {
      prompt_id: 'with-file',
      text: '/plan',
      attachments: [file],
    })
    const image = screen.page.locator('.prompt img')
    await image.waitFor()
    await until('the image', () => image.evaluate((img: HTMLImageElement) => img.naturalWidth === 1))
    // The download's address is fetched instead of saving a file.
    const saved = screen.page.evaluate(
      () =>
        new Promise<number>((done) => {
          HTMLAnchorElement.prototype.click = function () {
            void fetch(this.href).then((answer) => done(answer.status))
          }
        }),
    )
    await screen.page.getByRole('link', { name: 'dot.png' }).click()
    expect(await saved).toBe(200)
    await hub.idle(session)
  })

  test('shows a rule as suspended once the access of its author was revoked', async () => {
    const token = execFileSync(binaries.abide, ['token', '--data', hub.data, '--name', 'maker'], {
      encoding: 'utf8',
    }).trim()
    const made = await fetch(`${hub.origin}/api/sessions/${session}/rules`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scope: 'session', effect: 'allow', kind: 'execute', title: 'make test' }),
    })
    expect(made.status).toBe(201)
    const { devices } = await hub.api<{ devices: { id: string; name: string }[] }>('GET', '/api/devices')
    await hub.api('DELETE', `/api/devices/${devices.find((d) => d.name === 'maker')!.id}`)
    for (const size of [phone, desktop]) {
      const other = await device.watch(session, size)
      await other.page.getByRole('button', { name: 'More', exact: true }).click()
      await other.page.getByRole('menuitem', { name: 'Rules…' }).click()
      const dialog = other.page.getByRole('dialog', { name: 'Rules' })
      await dialog.getByText('Suspended: its author’s access was revoked or has expired.').waitFor()
      await shot(other, `rule-suspended-${size.width}`)
      await other.page.close()
    }
  })

  test('gives no usable credential to a program that takes the port while the hub is down', async () => {
    await hub.kill()
    const challenge = JSON.stringify({
      error: { code: 'unauthorized', message: 'sign this', challenge: 'thief' },
    })
    const thief = await Thief.listen(() => [401, challenge], Number(new URL(hub.origin).port))
    const sent = (path: string) => thief.taken.find((t) => t.path.startsWith(path))
    await until('what the page sends by itself', () => sent('/api/page') && sent('/api/sessions/'))
    await thief.stop()

    await hub.start()
    // The other requests are for the app's own files, which are public.
    for (const taken of thief.taken.filter((t) => t.path.startsWith('/api/'))) {
      const status = await send(hub, taken)
      expect(status, `${taken.method} ${taken.path}`).toBe(401)
    }
    await screen.page.locator('html[data-link=open]').waitFor()
    await screen.prompt('/plan')
    await hub.idle(session)
  })
})
