// HTTP proxies as they stand before hubs: one made here that does as it is told, and those of the system.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type Server } from 'node:http'
import { connect, createServer as createNetServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Process } from './process.ts'
import { until } from './until.ts'

/** What a proxy does to connections. */
export interface Manner {
  /** An upgrade is refused, or is never answered. */
  upgrade?: 'refused' | 'unanswered'
  /** An answer is passed on only once it has ended. */
  holds?: boolean
  /** A connection on which nothing comes for so long is cut. */
  idleMs?: number
  /** Only addresses below this path are passed on, without it. */
  below?: string
}

/** A proxy that listens before the hub does: the hub wants to know its name. */
export class Middleman {
  #to = { host: '', port: 0 }
  readonly #open = new Set<Socket>()

  private constructor(
    readonly server: Server,
    readonly addr: string,
  ) {}

  static async start(manner: Manner): Promise<Middleman> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const middleman = new Middleman(server, `127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.on('connection', (socket: Socket) => {
      middleman.#open.add(socket)
      socket.on('close', () => middleman.#open.delete(socket))
    })
    server.on('request', (asked, answer) => {
      const path = inside(asked, manner)
      if (path === null) return answer.writeHead(404).end('another service')
      const onward = request(
        { ...middleman.#to, path, method: asked.method, headers: asked.headers },
        (got) => {
          if (!manner.holds) {
            answer.writeHead(got.statusCode!, got.headers)
            return void got.pipe(answer)
          }
          const pieces: Buffer[] = []
          got.on('data', (piece) => pieces.push(piece))
          got.on('end', () => answer.writeHead(got.statusCode!, got.headers).end(Buffer.concat(pieces)))
        },
      )
      onward.on('error', () => answer.destroy())
      answer.on('close', () => onward.destroy())
      asked.pipe(onward)
    })
    server.on('upgrade', (asked: IncomingMessage, client: Socket, head: Buffer) => {
      client.on('error', () => client.destroy())
      const path = inside(asked, manner)
      if (manner.upgrade === 'unanswered') return
      if (manner.upgrade === 'refused' || path === null) {
        return void client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      }
      const hub = connect(middleman.#to.port, middleman.#to.host)
      const cut = () => (client.destroy(), hub.destroy())
      hub.on('error', cut).on('close', cut)
      client.on('close', cut)
      if (manner.idleMs) client.setTimeout(manner.idleMs, cut)
      const { rawHeaders } = asked
      hub.write(`GET ${path} HTTP/1.1\r\n`)
      for (let i = 0; i < rawHeaders.length; i += 2) hub.write(`${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`)
      hub.write('\r\n')
      hub.write(head)
      hub.pipe(client).pipe(hub)
    })
    return middleman
  }

  get origin(): string {
    return `http://${this.addr}`
  }

  to(addr: string): void {
    const { hostname, port } = new URL(`http://${addr}`)
    this.#to = { host: hostname, port: Number(port) }
  }

  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

function inside({ url = '/' }: IncomingMessage, { below = '' }: Manner): string | null {
  return url.startsWith(`${below}/`) ? url.slice(below.length) : null
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createNetServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Whether the system has a program. */
export function has(program: string): boolean {
  try {
    execFileSync(program, [program === 'nginx' ? '-v' : 'version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** nginx or Caddy of the system with a configuration, listening on a port. */
export async function installed(
  program: 'nginx' | 'caddy',
  config: string,
  port: number,
): Promise<{ stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'abide-proxy-'))
  const file = join(folder, 'config')
  writeFileSync(file, config.replaceAll('FOLDER', folder))
  const args =
    program === 'nginx' ? ['-p', folder, '-c', file] : ['run', '--config', file, '--adapter', 'caddyfile']
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const run = new Process(program, args, { env })
  await until(`${program} listening`, () => {
    if (run.ended) throw new Error(`${program}: ${run.stderr}`)
    return new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)))
      socket.on('error', () => resolve(false))
    })
  })
  return {
    async stop() {
      await run.kill('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
