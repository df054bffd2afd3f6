// A hub as a person runs it: the built binary on a data directory of its own.
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
/** Without it a program built with -race takes a second to exit. */
const env = { ...process.env, GORACE: 'atexit_sleep_ms=0', ABIDE_QUEUE_AFTER_INTERRUPTION: 'continue' }

export interface HubOptions {
  /** What browsers may call the hub by, beside its own address. */
  publicNames?: string[]
  /**
   * Agents beside `demo`, which answers at once, and `paced`, which says ten numbers in 100 ms for `/slow`;
   * or what makes them of a folder of the hub's own.
   */
  agents?: Record<string, string[]> | ((home: string) => Record<string, string[]>)
  /** How long an agent may say nothing in a turn before that is reported; of every agent. */
  silence?: string
  /** The name of the folder sessions run in. */
  folder?: string
  /** How fast `demo` is against its natural pace; 0 does not wait at all. */
  speed?: number
  /** More lines of the configuration. */
  config?: string
  /** Runs the hub under the race detector: where connections, hubs or browsers come and go. */
  race?: boolean
}

export class Hub {
  readonly home = leavings.folder('abide-e2e-')
  readonly data = join(this.home, 'data')
  readonly workspace: string
  #process: Process | undefined
  #addr = '127.0.0.1:0'
  #token: string | undefined
  origin = ''
  /** The link a person would open; it pairs one browser. */
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

  /** Starts the hub; again after a kill it comes back at the same address. */
  async start(): Promise<void> {
    this.#writeConfig()
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
      env,
    })
    this.origin = (await this.#process.line()).replace('listening on ', '')
    this.link = (await this.#process.line()).replace('open ', '')
    this.#addr = new URL(this.origin).host
  }

  #writeConfig(): void {
    const demo = (speed: number) => [binaries.abide, 'demo-agent', '--speed', String(speed)]
    const more = this.options.agents
    const own = typeof more === 'function' ? more(this.home) : more
    const agents = { demo: demo(this.options.speed ?? 0), paced: demo(10), ...own }
    const silence = this.options.silence ? `, silence: ${this.options.silence}` : ''
    const lines = Object.entries(agents).map(
      ([name, command]) => `  ${name}: {command: ${JSON.stringify(command)}${silence}}\n`,
    )
    writeFileSync(
      join(this.home, 'config.yaml'),
      `public_names: ${JSON.stringify(this.options.publicNames ?? [])}\n` +
        `agents:\n${lines.join('')}` +
        `workspaces: [${JSON.stringify(this.workspace)}]\n` +
        (this.options.config ?? ''),
    )
  }

  /** Ends the hub as a crash would: nothing is said, nothing is tidied. */
  async kill(): Promise<void> {
    await this.#process?.kill('SIGKILL')
  }

  /** Ends the hub as its operator would, and returns its exit code. */
  async stop(): Promise<number | null> {
    dismiss(this)
    await this.#process?.kill('SIGTERM')
    const code = (await this.#process?.exited) ?? null
    rmSync(this.home, { recursive: true, force: true })
    return code
  }

  /** A bearer token, as a script would get one. */
  get token(): string {
    this.#token ??= execFileSync(binaries.abide, ['token', '--data', this.data], {
      encoding: 'utf8',
      env,
    }).trim()
    return this.#token
  }

  /** A fresh pairing link to this hub's own address, or to another one. */
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
    await this.api('DELETE', `/api/sessions/${id}`)
  }

  async prompt(session: string, text: string): Promise<void> {
    await this.api('POST', `/api/sessions/${session}/prompt`, { prompt_id: crypto.randomUUID(), text })
  }

  /** Prompts and waits until the turn is over. */
  async turn(session: string, text: string): Promise<void> {
    const before = this.lastSeq(session)
    await this.prompt(session, text)
    await this.event(session, 'turn_end', before)
  }

  /** The session's events as they are on disk: the truth every screen is held against. */
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
      // Of a long log, asked again and again, only lines that may be the event are parsed.
      this.#lines(session)
        .filter((line) => line.includes(`"${type}"`))
        .map((line) => JSON.parse(line) as AbideEvent)
        .find((e) => e.seq > after && e.type === type),
    )
    return found as Extract<AbideEvent, { type: T }>
  }

  /** Waits until nothing is at work in the session any more. */
  async idle(session: string): Promise<void> {
    await until(`${session} idle`, async () =>
      ['idle', 'interrupted'].includes((await this.session(session)).status),
    )
  }
}
