// A hub as a person runs it: the built binary with its own data directory.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { AbideEvent, SessionInfo } from '../../src/wire/gen.ts'
import { call, dismiss, tail } from './evidence.ts'
import { leavings } from './leavings.ts'
import { Process } from './process.ts'
import { until } from './until.ts'

const bin = resolve(import.meta.dirname, '../../../bin')

export const binaries = {
  abide: join(bin, 'abide'),
  race: join(bin, 'abide-race'),
  faultproxy: join(bin, 'faultproxy'),
}
/** Without GORACE=atexit_sleep_ms=0 a program built with -race takes a second to exit. */
const env = { ...process.env, GORACE: 'atexit_sleep_ms=0', ABIDE_QUEUE_AFTER_INTERRUPTION: 'continue' }

export interface HubOptions {
  /** Host names by which browsers may reach the hub, besides its own address. */
  publicNames?: string[]
  /**
   * Agents besides `demo`, which answers at once, and `paced`, which says ten numbers in 100 ms for `/slow`;
   * or a function that returns them for the hub's home folder.
   */
  agents?: Record<string, string[]> | ((home: string) => Record<string, string[]>)
  /** The agents may read and write files by the hub. */
  clientFiles?: boolean
  /** How long any agent may be silent in a turn before the hub reports it. */
  silence?: string
  /** The name of the folder sessions run in. */
  folder?: string
  /** The pace of `demo` relative to its natural one; 0 is without any delay. */
  speed?: number
  /** More lines of the configuration. */
  config?: string
  /** The configuration has no agents, and no line but those of `config`. */
  bare?: boolean
  /** Programs by their names, with their shell scripts: in a folder of the hub's PATH. */
  programs?: Record<string, string>
  /** Runs the hub under the race detector: for tests in which connections, hubs or browsers end. */
  race?: boolean
}

export class Hub {
  /** Where it has its folders: the home of its user. */
  readonly home = leavings.folder('abide-e2e-')
  readonly data = join(this.home, 'data')
  readonly workspace: string
  #process: Process | undefined
  #addr = '127.0.0.1:0'
  #token: string | undefined
  origin = ''
  /** The pairing link from the hub's output; it pairs one browser. */
  link = ''

  constructor(readonly options: HubOptions = {}) {
    this.workspace = join(this.home, options.folder ?? 'work')
    mkdirSync(this.workspace)
    call(this)
  }

  static async start(options: HubOptions = {}): Promise<Hub> {
    const hub = new Hub(options)
    await hub.start()
    return hub
  }

  get addr(): string {
    return this.#addr
  }

  /** The hub's log for its operator. */
  get log(): string {
    return this.#process?.stderr ?? ''
  }

  testify(): string {
    return `hub ${this.origin} said\n${tail(this.log)}`
  }

  /** Starts the hub. After a kill it starts again at the same address. */
  async start(): Promise<void> {
    this.#writeConfig()
    const programs = join(this.home, 'bin')
    mkdirSync(programs, { recursive: true })
    for (const [name, script] of Object.entries(this.options.programs ?? {}))
      writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const args = [
      'serve',
      '--addr',
      this.#addr,
      '--data',
      this.data,
      '--open=false',
      '--config',
      join(this.home, 'config.yaml'),
    ]
    this.#process = new Process(this.options.race ? binaries.race : binaries.abide, args, {
      cwd: this.workspace,
      env: { ...env, HOME: this.home, PATH: `${programs}:${process.env['PATH'] ?? ''}` },
    })
    this.origin = (await this.#process.line()).replace('listening on ', '')
    this.link = (await this.#process.line()).replace('open ', '')
    this.#addr = new URL(this.origin).host
  }

  #writeConfig(): void {
    if (this.options.bare) return writeFileSync(join(this.home, 'config.yaml'), this.options.config ?? '')
    const demo = (speed: number) => [binaries.abide, 'demo-agent', '--speed', String(speed)]
    const more = this.options.agents
    const own = typeof more === 'function' ? more(this.home) : more
    const agents = { demo: demo(this.options.speed ?? 0), paced: demo(10), ...own }
    const silence = this.options.silence ? `, silence: ${this.options.silence}` : ''
    const files = this.options.clientFiles ? ', fs: true' : ''
    const lines = Object.entries(agents).map(
      ([name, command]) => `  ${name}: {command: ${JSON.stringify(command)}${silence}${files}}\n`,
    )
    writeFileSync(
      join(this.home, 'config.yaml'),
      `public_names: ${JSON.stringify(this.options.publicNames ?? [])}\n` +
        `agents:\n${lines.join('')}` +
        `workspaces: [${JSON.stringify(this.workspace)}]\n` +
        (this.options.config ?? ''),
    )
  }

  /** Kills the hub as a crash would: it cannot say goodbye or clean up. */
  async kill(): Promise<void> {
    await this.#process?.kill('SIGKILL')
  }

  /** Stops the hub with SIGTERM, as its operator would, and returns its exit code. */
  async stop(): Promise<number | null> {
    dismiss(this)
    await this.#process?.kill('SIGTERM')
    const code = (await this.#process?.exited) ?? null
    rmSync(this.home, { recursive: true, force: true })
    return code
  }

  /** A bearer token from `abide token`. */
  get token(): string {
    this.#token ??= execFileSync(binaries.abide, ['token', '--data', this.data], {
      encoding: 'utf8',
      env,
    }).trim()
    return this.#token
  }

  /** A new pairing link to this hub's own address, or to `origin`. */
  pairLink(origin = this.origin): string {
    const out = execFileSync(binaries.abide, ['pair', '--data', this.data, '--json'], {
      encoding: 'utf8',
      env,
    })
    return out.match(/"(http:[^"]*)"/)![1]!.replace(this.origin, origin)
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.origin + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return (text ? JSON.parse(text) : undefined) as T
  }

  async newSession(name: string, agent = 'demo'): Promise<string> {
    const created = await this.api<SessionInfo>('POST', '/api/sessions', {
      agent,
      workspace: this.workspace,
      name,
    })
    return created.session_id
  }

  session(id: string): Promise<SessionInfo> {
    return this.api('GET', `/api/sessions/${id}`)
  }

  async deleteSession(id: string): Promise<void> {
    await this.api('DELETE', `/api/sessions/${id}?forever=true`)
  }

  async prompt(session: string, text: string): Promise<void> {
    await this.api('POST', `/api/sessions/${session}/prompt`, { prompt_id: crypto.randomUUID(), text })
  }

  /** Sends a prompt and waits until its turn has ended. */
  async turn(session: string, text: string): Promise<void> {
    const before = this.lastSeq(session)
    await this.prompt(session, text)
    await this.event(session, 'turn_end', before)
  }

  /** The session's events from the log on disk. Every screen is compared with these. */
  events(session: string): AbideEvent[] {
    return this.#lines(session).map((line) => JSON.parse(line) as AbideEvent)
  }

  #lines(session: string): string[] {
    return readFileSync(join(this.data, 'sessions', session, 'events.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
  }

  lastSeq(session: string): number {
    const last = this.#lines(session).at(-1)
    return last === undefined ? 0 : (JSON.parse(last) as AbideEvent).seq
  }

  /** Waits until the log has an event of that type after seq. */
  async event<T extends AbideEvent['type']>(
    session: string,
    type: T,
    after = 0,
  ): Promise<Extract<AbideEvent, { type: T }>> {
    const found = await until(`${type} after ${after}`, () =>
      // The log may be long and is read repeatedly, so only lines that contain the type are parsed.
      this.#lines(session)
        .filter((line) => line.includes(`"${type}"`))
        .map((line) => JSON.parse(line) as AbideEvent)
        .find((e) => e.seq > after && e.type === type),
    )
    return found as Extract<AbideEvent, { type: T }>
  }

  /** Waits until the session is idle or interrupted. */
  async idle(session: string): Promise<void> {
    await until(`${session} idle`, async () =>
      ['idle', 'interrupted'].includes((await this.session(session)).status),
    )
  }
}
