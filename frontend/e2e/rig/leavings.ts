// The processes and folders that tests have made. They end with the worker, also when it is killed: a stopped
// Chromium, a hub and a folder alike.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

class Leavings {
  readonly #running = new Set<ChildProcess>()
  readonly #folders = new Set<string>()

  constructor() {
    process.once('exit', () => this.#clear())
    // A run that is broken off ends its workers so, and a runner that is killed lets go of them.
    for (const end of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) {
      process.once(end, () => {
        this.#clear()
        process.kill(process.pid, 'SIGKILL')
      })
    }
  }

  /** Ends the process and all below it with this one, unless it ended before. */
  add(child: ChildProcess): void {
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
  }

  /** A new folder, removed with this process at the latest. */
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

/** Of this worker, whose test files follow each other in one process. */
export const leavings = new Leavings()

/** Signals a process and all below it. */
export function signalAll(root: ChildProcess, signal: NodeJS.Signals): void {
  if (root.pid === undefined) return
  for (const pid of tree(root.pid)) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself meanwhile.
    }
  }
}

/** The process and all below it. */
function tree(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)])
    } catch {
      continue // it ended while we looked
    }
  }
  const all = [root]
  for (const pid of all) all.push(...(children.get(pid) ?? []))
  return all
}
