// Child processes whose output the tests read line by line.
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { leavings } from './leavings.ts'

/** A child process. Its lines of stdout are buffered until they are read. */
export class Process {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  stderr = ''
  #lines: string[] = []
  #waiting: ((line: string | undefined) => void)[] = []
  #silent = false
  readonly #closed: Promise<unknown>

  constructor(command: string, args: string[], options: SpawnOptions = {}) {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options })
    leavings.add(this.child)
    this.exited = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('exit', (code) => resolve(code))
    })
    this.exited.catch(() => {})
    this.#closed = once(this.child, 'close').catch(() => {})
    this.child.stderr!.on('data', (chunk) => (this.stderr += chunk))
    const lines = createInterface({ input: this.child.stdout! })
    lines.on('line', (line) => {
      const waiting = this.#waiting.shift()
      if (waiting) waiting(line)
      else this.#lines.push(line)
    })
    lines.on('close', () => {
      this.#silent = true
      for (const waiting of this.#waiting.splice(0)) waiting(undefined)
    })
  }

  /** Whether the process has ended, or could not be started. */
  get ended(): boolean {
    return this.child.pid === undefined || this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** The next line of stdout; fails if the process ends without one. */
  async line(): Promise<string> {
    const line =
      this.#lines.shift() ??
      (this.#silent
        ? undefined
        : await new Promise<string | undefined>((resolve) => this.#waiting.push(resolve)))
    if (line !== undefined) return line
    // The last stderr output may arrive after the exit event.
    await this.#closed
    throw new Error(`${this.child.spawnfile} ended without a line: ${this.stderr}`)
  }

  write(line: string): void {
    this.child.stdin!.write(line + '\n')
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal)
    await this.exited
  }
}
