// A hub as a person runs it: the built binary on a data directory of its own.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { AbideEvent } from '../../src/wire/gen.ts'
import { Process } from './process.ts'
import { until } from './until.ts'

const bin = resolve(import.meta.dirname, '../../../bin')

export const binaries = { abide: join(bin, 'abide-race'), faultproxy: join(bin, 'faultproxy') }

export class Hub {
  readonly home = mkdtempSync(join(tmpdir(), 'abide-e2e-'))
  readonly data = join(this.home, 'data')
  readonly workspace = mkdtempSync(join(this.home, 'workspace-'))
  #process: Process | undefined
  #addr = '127.0.0.1:0'
  #token: string | undefined
  origin = ''
  /** The link a person would open; it pairs one browser. */
  link = ''

  constructor(readonly options: { publicNames?: string[]; agentArgs?: string[] } = {}) {}

  get addr(): string {
    return this.#addr
  }

  /** Starts the hub; again after a kill it comes back at the same address. */
  async start(): Promise<void> {
    const args = ['serve', '--addr', this.#addr, '--data', this.data, '--open=false', '--config', join(this.home, 'config.yaml')]
    this.#writeConfig()
    this.#process = new Process(binaries.abide, args, { cwd: this.workspace })
    this.origin = (await this.#process.line()).replace('listening on ', '')
    this.link = (await this.#process.line()).replace('open ', '')
    this.#addr = new URL(this.origin).host
  }

  #writeConfig(): void {
    const names = JSON.stringify(this.options.publicNames ?? [])
    const args = JSON.stringify([binaries.abide, 'demo-agent', ...(this.options.agentArgs ?? ['--speed', '0'])])
    writeFileSync(
      join(this.home, 'config.yaml'),
      `public_names: ${names}\nagents:\n  demo: {command: ${args}}\nworkspaces: [${JSON.stringify(this.workspace)}]\n`,
    )
  }

  async kill(): Promise<void> {
    await this.#process?.kill('SIGKILL')
  }

  async stop(): Promise<number | null> {
    await this.#process?.kill('SIGTERM')
    const code = await this.#process!.exited
    rmSync(this.home, { recursive: true, force: true })
    return code
  }

  /** A bearer token, as a script would get one. */
  get token(): string {
    this.#token ??= execFileSync(binaries.abide, ['token', '--data', this.data], { encoding: 'utf8' }).trim()
    return this.#token
  }

  /** A fresh pairing link to this hub's own address, or to another one. */
  pairLink(origin = this.origin): string {
    const out = execFileSync(binaries.abide, ['pair', '--data', this.data, '--json'], { encoding: 'utf8' })
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

  async newSession(name: string): Promise<string> {
    const created = await this.api<{ session_id: string }>('POST', '/api/sessions', {
      agent: 'demo',
      workspace: this.workspace,
      name,
    })
    return created.session_id
  }

  async prompt(session: string, text: string): Promise<void> {
    await this.api('POST', `/api/sessions/${session}/prompt`, { prompt_id: crypto.randomUUID(), text })
  }

  /** The session's events as they are on disk: the truth every screen is held against. */
  events(session: string): AbideEvent[] {
    return readFileSync(join(this.data, 'sessions', session, 'events.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as AbideEvent)
  }

  /** Waits until the log has an event of that type after seq. */
  async event(session: string, type: AbideEvent['type'], after = 0): Promise<AbideEvent> {
    return until(`${type} after ${after}`, () => this.events(session).find((e) => e.seq > after && e.type === type))
  }
}
