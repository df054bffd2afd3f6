// A proxy between a browser and the hub that causes network faults.
import { binaries } from './hub.ts'
import { Process } from './process.ts'

export class FaultProxy {
  #process = new Process(binaries.faultproxy, [])
  addr = ''

  /** Starts listening. `to` must be called before connections are forwarded. */
  static async start(): Promise<FaultProxy> {
    const proxy = new FaultProxy()
    proxy.addr = await proxy.#process.line()
    return proxy
  }

  get origin(): string {
    return `http://${this.addr}`
  }

  to(addr: string): Promise<void> {
    return this.tell(`upstream ${addr}`)
  }

  async tell(command: string): Promise<void> {
    this.#process.write(command)
    const answer = await this.#process.line()
    if (!answer.startsWith('ok')) throw new Error(`${command}: ${answer}`)
  }

  stop(): Promise<void> {
    return this.#process.kill('SIGKILL')
  }
}
