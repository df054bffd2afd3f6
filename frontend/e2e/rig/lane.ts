// A lane: a phone with its own hub behind its own proxy, which sleeps and wakes again and
// again. Lanes run concurrently and share nothing.
import { expect } from 'vitest'
import { phone as phoneSize } from './browser.ts'
import { Device } from './device.ts'
import { usedBytes, objectBytes } from './heap.ts'
import { Hub } from './hub.ts'
import { expectWhole } from './oracle.ts'
import { FaultProxy } from './proxy.ts'
import type { Screen } from './screen.ts'
import { fallAsleep, leftByRig, type Sleep } from './sleep.ts'
import { alone, elapse, until } from './until.ts'

/** The faults of the connection while the page sleeps. */
export const faults = ['none', 'stall', 'rst', 'fin', 'restart', 'blackhole'] as const
/** The states of the session when the page falls asleep. */
export const moments = ['idle', 'mid-stream', 'a prompt in the outbox', 'a permission open'] as const

export type Fault = (typeof faults)[number]
export type Moment = (typeof moments)[number]

/** How long a page sleeps, in milliseconds. A stopped page must notice that its clock jumped, which takes longer. */
const naps: Record<Sleep, number> = { hidden: 600, freeze: 600, bfcache: 600, stop: 2_300 }

export class Lane {
  #session = ''
  #cycles = 0
  /** The bytes that the rig leaks into the page with every wake; undefined until measured. */
  #left: number | undefined
  readonly #forgetting: Promise<void>[] = []

  private constructor(
    readonly sleep: Sleep,
    readonly hub: Hub,
    readonly proxy: FaultProxy,
    readonly phone: Device,
    readonly screen: Screen,
  ) {}

  static async start(sleep: Sleep): Promise<Lane> {
    const proxy = await FaultProxy.start()
    const hub = await Hub.start({ publicNames: [proxy.addr], race: true })
    await proxy.to(hub.addr)
    const phone = await Device.pair(hub, { origin: proxy.origin, size: phoneSize })
    const screen = await phone.open('/', phoneSize)
    // Wait for the service worker: when it claims the pages, the browser evicts those in the back/forward cache.
    await alone(screen.page)
    return new Lane(sleep, hub, proxy, phone, screen)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#forgetting)
    await this.phone.stop()
    await this.proxy.stop()
    expect(await this.hub.stop()).toBe(0)
  }

  /** Sleeps once; fails unless the page shows exactly the log after the wake. With `late` the network returns after the wake. */
  async cycle(fault: Fault, moment: Moment, late = false): Promise<void> {
    await this.#begin(fault, moment)
    const cut = moment === 'a prompt in the outbox'
    if (cut) {
      await this.#break(fault)
      await this.screen.prompt('/burst 50')
    }
    const wake = await fallAsleep(this.sleep, this.phone, this.screen)
    await elapse(naps[this.sleep] / 2)
    if (!cut) await this.#break(fault)
    if (fault === 'restart') await this.hub.start()
    if (moment === 'idle') await this.hub.turn(this.#session, '/burst 100')
    await elapse(naps[this.sleep] / 2)
    if (late) {
      await wake()
      await elapse(300)
      await this.proxy.tell('heal')
    } else {
      await this.proxy.tell('heal')
      await wake()
    }
    await this.#end(fault, moment)
    await expectWhole(this.screen, this.hub, this.#session)
    expect(await this.screen.page.locator('[data-outbox]').count(), 'prompts still in the outbox').toBe(0)
    this.#forget(this.#session)
    // The browser's pooled HTTP connections are dead too, so reset them.
    await this.proxy.tell('rst')
  }

  get cycles(): number {
    return this.#cycles
  }

  /** The memory of the page in bytes, without the bytes that the rig leaks. */
  async kept(): Promise<number> {
    if (this.sleep !== 'bfcache') return usedBytes(this.screen.page)
    this.#left ??= await leftByRig(this.phone)
    return (await objectBytes(this.screen.page)) - this.#left * this.#cycles
  }

  /** The evidence for a failed cycle: the difference, the screen, the end of the log. */
  async evidence(error: Error & { actual?: unknown; expected?: unknown }): Promise<string> {
    const part = async (what: () => unknown) => {
      try {
        return JSON.stringify(await what())
      } catch (failed) {
        return String(failed)
      }
    }
    return [
      error.stack,
      `actual ${JSON.stringify(error.actual)}`,
      `expected ${JSON.stringify(error.expected)}`,
      `screen ${await part(() => this.screen.facts())} ${this.screen.page.url()}`,
      `sockets ${await part(() => this.screen.watched())}`,
      `errors ${await part(() => this.screen.errors)}`,
      `session ${await part(() => this.hub.session(this.#session))}`,
      `log ${await part(() => this.hub.events(this.#session).slice(-5))}`,
    ].join('\n  ')
  }

  /** Deletes the session, which ends its agent. It does not wait: an agent may take long to end. */
  #forget(session: string): void {
    this.#forgetting.push(this.hub.deleteSession(session).catch(() => {}))
  }

  async #begin(fault: Fault, moment: Moment): Promise<void> {
    const agent = moment === 'mid-stream' ? 'paced' : 'demo'
    this.#session = await this.hub.newSession(`Cycle ${++this.#cycles}`, agent)
    // The same document for all cycles, so that leaks and open sockets accumulate.
    await this.screen.go(`/s/${this.#session}`)
    await this.screen.reaches(this.#session, 1)
    if (moment === 'mid-stream') {
      // The agent must still be streaming when the hub is killed, however long the page takes to fall asleep.
      await this.screen.prompt(fault === 'restart' ? '/slow 3600' : '/slow 15')
      await this.screen.reaches(this.#session, 21)
    } else if (moment === 'a permission open') {
      await this.screen.prompt('/ask')
      await this.screen.permission.waitFor()
    } else {
      await this.hub.turn(this.#session, '/slow 1')
      await this.screen.reaches(this.#session, this.hub.lastSeq(this.#session))
    }
  }

  async #break(fault: Fault): Promise<void> {
    if (fault === 'restart') await this.hub.kill()
    else if (fault === 'blackhole') {
      await this.proxy.tell('blackhole')
      await this.proxy.tell('rst')
    } else if (fault === 'stall') await this.proxy.tell('strand')
    else if (fault !== 'none') await this.proxy.tell(fault)
  }

  async #end(fault: Fault, moment: Moment): Promise<void> {
    const session = this.#session
    if (moment === 'a permission open' && fault !== 'restart') await this.screen.answer('Allow once')
    if (moment === 'a prompt in the outbox') {
      const prompts = () => this.hub.events(session).filter((e) => e.type === 'user_prompt')
      await until('the prompt from the outbox', () => prompts().length === 2)
      await this.hub.event(session, 'turn_end', prompts()[1]!.seq)
      expect(prompts().map((e) => e.data.text)).toEqual(['/slow 1', '/burst 50'])
    }
    const end = await this.hub.event(session, 'turn_end')
    if (fault === 'restart' && moment !== 'idle' && moment !== 'a prompt in the outbox') {
      expect(end.data.stop_reason).toBe('hub_restart')
    }
    await this.hub.idle(session)
    await this.screen.permission.waitFor({ state: 'detached' })
  }
}
