// The processes and temporary folders that tests made. They are removed when the worker ends, also when a signal
// ends it. A frozen Chromium is killed, too.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

class Leavings {
  readonly #running = new Set<ChildProcess>()
  readonly #folders = new Set<string>()

  constructor() {
    process.once('exit', () => this.#clear())
    // An interrupted run signals its workers. If the runner is killed, its workers get "disconnect".
    for (const end of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) {
      process.once(end, () => {
        this.#clear()
        process.kill(process.pid, 'SIGKILL')
      })
    }
  }

  /** Kills the process and its descendants when this worker ends. */
  add(child: ChildProcess): void {
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
  }

  /** Makes a temporary folder, which is removed at the latest when this worker ends. */
  folder(prefix: string): string {
    const folder = mkdtempSync(join(tmpdir(), prefix))
    this.#folders.add(folder)
    return folder
  }

  #clear(): void {
    for (const child of this.#running) signalAll(child, 'SIGKILL')
    for (const folder of this.#folders) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    }
  }
}

/** One for the worker: its test files run one after the other in one process. */
export const leavings = new Leavings()

/** Sends a signal to a process and its descendants. */
export function signalAll(root: ChildProcess, signal: NodeJS.Signals): void {
  if (root.pid === undefined) return
  for (const pid of tree(root.pid)) {
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended already.
    }
  }
}

/** The ids of the process and its descendants. */
function tree(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      continue // the process ended during the walk
    }
  }
  const all = [root]
  for (const pid of all) all.push(...(children.get(pid) ?? []))
  return all
}
