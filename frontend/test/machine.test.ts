import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits, start, step, type Effect, type Input, type Machine, type Timer } from '../src/net/machine'

/** The range of Math.random. */
const chance = { min: 0, max: 1, maxExcluded: true, noNaN: true }

/** A machine with a fake clock, and the sockets and timers that its effects ask for. */
class Bench {
  m: Machine = start
  now = 1_000_000
  effects: Effect[] = []
  readonly alive = new Set<number>()
  readonly timers = new Map<Timer, number>()
  readonly pings: string[] = []
  most = 0

  constructor(private readonly random = () => 0.5) {}

  do(input: Input): this {
    const [m, effects] = step(this.m, input, { now: this.now, random: this.random })
    this.m = m
    this.effects = effects
    for (const e of effects) {
      if (e.do === 'dial') this.alive.add(e.gen)
      if (e.do === 'drop') this.alive.delete(e.gen)
      if (e.do === 'ping') this.pings.push(e.nonce)
      if (e.do === 'timer') {
        if (e.ms === null) this.timers.delete(e.timer)
        else this.timers.set(e.timer, this.now + e.ms)
      }
    }
    if (input.type === 'closed') this.alive.delete(input.gen)
    this.most = Math.max(this.most, this.alive.size)
    return this
  }

  /** Lets time pass and fires the due timers in order. */
  pass(ms: number): this {
    const end = this.now + ms
    for (;;) {
      const due = [...this.timers].filter(([, at]) => at <= end).sort((a, b) => a[1] - b[1])[0]
      if (!due) break
      this.now = Math.max(this.now, due[1])
      this.timers.delete(due[0])
      this.do({ type: 'timer', timer: due[0] })
    }
    this.now = end
    return this
  }

  /** Sets the clock back; the timers keep their remaining time. */
  setBack(ms: number): this {
    this.now -= ms
    for (const [timer, at] of this.timers) this.timers.set(timer, at - ms)
    return this
  }

  /** Lets time pass until the next dial is due. */
  retried(): this {
    return this.pass(this.m.retryAt! - this.now)
  }

  /** Hides the page and lets time pass without firing timers, as on a sleeping phone. */
  sleep(ms: number): this {
    this.do({ type: 'hidden' })
    this.now += ms
    return this
  }

  connected(gen = this.m.main!.gen): this {
    return this.do({ type: 'connected', gen, heartbeatMs: 10_000, protocol: 1 })
  }

  open(): this {
    return this.do({ type: 'start' }).connected()
  }
}

describe('what is sent', () => {
  it('is watched: if no frame arrives afterwards, the connection is probed, and doubted', () => {
    const b = new Bench().open().pass(6_000).do({ type: 'sent' }).pass(1_499)
    expect(b.pings).toEqual([])
    expect([b.pass(1).pings.length, b.alive.size]).toEqual([1, 1])
    expect([b.pass(limits.probeMs).alive.size, b.m.probe?.late]).toEqual([2, true])
  })

  it('causes no probe once a frame has arrived', () => {
    const b = new Bench()
      .open()
      .pass(6_000)
      .do({ type: 'sent' })
      .pass(100)
      .do({ type: 'frame', gen: 1 })
      .pass(5_000)
    expect(b.pings).toEqual([])
  })

  it('is timed from the first message without a reply', () => {
    const b = new Bench().open().pass(6_000)
    for (let i = 0; i < 5; i++) b.do({ type: 'sent' }).pass(400)
    expect(b.pings.length).toBe(1)
  })

  it('does not cause a probe of a new connection, which resends the outbox while it catches up', () => {
    const b = new Bench()
      .open()
      .pass(limits.settledMs - 1)
      .do({ type: 'sent' })
      .pass(4_000)
    expect([b.pings, b.alive.size]).toEqual([[], 1])
  })
})

describe('a clock that is set back', () => {
  const hour = 3_600_000

  it('hides no silence', () => {
    const b = new Bench().open().pass(1_000).setBack(hour).pass(17_000)
    expect([b.pings.length, b.timers.has('silence')]).toEqual([1, true])
  })

  it('keeps watching messages sent before and after it', () => {
    const behind = new Bench().open().pass(6_000).setBack(hour).do({ type: 'sent' }).pass(limits.probeMs)
    const before = new Bench().open().pass(6_000).do({ type: 'sent' }).setBack(hour).pass(limits.probeMs)
    expect([behind.pings.length, before.pings.length]).toEqual([1, 1])
  })

  it('does not make a long sleep look short', () => {
    const b = new Bench().open().sleep(60_000).setBack(hour).do({ type: 'wake' })
    expect(b.alive.size).toBe(2)
  })

  it('does not block probes: the next trigger probes again, and a hanging second socket is dialled anew', () => {
    const b = new Bench()
      .open()
      .sleep(60_000)
      .do({ type: 'wake' })
      .setBack(hour)
      .do({ type: 'wake', jumped: true })
    expect([b.pings.length, [...b.alive]]).toEqual([2, [1, 3]])
  })
})

describe('a network that goes', () => {
  it('is no proof that the connection is dead: it is probed', () => {
    const b = new Bench().open().do({ type: 'offline' })
    expect([b.pings.length, b.alive.size, b.m.main?.phase]).toEqual([1, 1, 'open'])
    b.do({ type: 'pong', gen: 1, nonce: b.pings[0]! }).pass(5_000)
    expect([b.m.probe, b.alive.size]).toEqual([null, 1])
  })

  it('means the phase "offline" if no pong comes', () => {
    const b = new Bench().open().do({ type: 'offline' }).pass(limits.probeMs)
    expect(b.m.probe?.late).toBe(true)
    b.do({ type: 'closed', gen: 2, code: 1006 }).pass(limits.deadMs - limits.probeMs)
    expect([b.m.main, b.m.online, b.alive.size]).toEqual([null, false, 0])
  })

  it('counts as back when a hub answers, or the device says so', () => {
    const b = new Bench().open().do({ type: 'offline' }).pass(limits.probeMs)
    expect(b.m.online).toBe(false)
    expect(b.connected(2).m.online).toBe(true)
    b.do({ type: 'offline' })
    expect([b.m.online, b.do({ type: 'wake', online: true }).m.online]).toEqual([false, true])
    expect(b.do({ type: 'wake', online: false }).m.online).toBe(false)
  })
})

describe('a wake', () => {
  it('after a sleep within 5 s sends a probe and dials nothing', () => {
    const b = new Bench().open().sleep(3000).do({ type: 'wake' })
    expect([b.pings.length, b.alive.size]).toEqual([1, 1])
  })

  it('after a longer sleep sends a probe and dials a second socket at once', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' })
    expect(b.effects.map((e) => e.do)).toEqual(['ping', 'timer', 'timer', 'dial'])
    expect(b.alive.size).toBe(2)
  })

  it('keeps the old socket when its pong comes first', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' })
    b.do({ type: 'pong', gen: 1, nonce: b.pings[0]! })
    expect([b.m.main?.gen, b.m.spare, [...b.alive]]).toEqual([1, null, [1]])
  })

  it('takes the new socket when it is connected first, and drops the old one', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' }).connected(2)
    expect([b.m.main, [...b.alive]]).toEqual([expect.objectContaining({ gen: 2, phase: 'open' }), [2]])
    // Events of the dropped socket are ignored.
    b.do({ type: 'pong', gen: 1, nonce: b.pings[0]! }).do({ type: 'closed', gen: 1, code: 1006 })
    expect([b.m.main?.gen, b.m.retryAt]).toEqual([2, null])
  })

  it('accepts neither a frame nor a pong to another nonce as proof of life', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' })
    b.do({ type: 'frame', gen: 1 }).do({ type: 'pong', gen: 1, nonce: 'before the sleep' })
    expect([b.m.probe === null, b.alive.size]).toEqual([false, 2])
  })

  it('redials a second socket that has hung since the wake before', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' }).sleep(60_000).do({ type: 'wake' })
    expect([b.m.main?.gen, [...b.alive]]).toEqual([1, [1, 3]])
  })

  it('never makes a third socket, however many triggers come', () => {
    const b = new Bench().open().sleep(60_000)
    for (let i = 0; i < 5; i++) b.do({ type: 'wake', jumped: true }).pass(200)
    expect([b.most, b.pings.length]).toEqual([2, 1])
  })

  it('restarts a connection attempt that was interrupted by the sleep', () => {
    const b = new Bench().do({ type: 'start' }).sleep(60_000).do({ type: 'wake' })
    expect([b.m.main?.gen, [...b.alive]]).toEqual([2, [2]])
  })

  it('without a connection dials now, not at the due time', () => {
    const b = new Bench().do({ type: 'start' })
    for (let i = 0; i < 6; i++) b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 }).retried()
    b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 }).do({ type: 'wake' })
    expect(b.m.main?.phase).toBe('dialling')
  })

  it('without a connection resets the backoff', () => {
    const b = new Bench().do({ type: 'start' })
    for (let i = 0; i < 6; i++) b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 }).retried()
    b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 }).do({ type: 'wake' })
    b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 })
    expect(b.m.retryAt! - b.now).toBeLessThanOrEqual(2 * limits.backoffMinMs)
  })

  it('is not needed to replace a silent dead connection', () => {
    const b = new Bench().open().pass(10_000 * 1.5 + 1_000 + limits.probeMs)
    expect([b.pings.length, b.m.spare?.gen]).toEqual([1, 2])
    expect(b.connected(2).m.main?.gen).toBe(2)
  })
})

describe('failure', () => {
  it('is retried with growing, bounded waits, for ever', () => {
    const b = new Bench().do({ type: 'start' })
    const waits: number[] = []
    for (let i = 0; i < 12; i++) {
      b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 })
      waits.push(b.m.retryAt! - b.now)
      b.retried()
      expect(b.m.main?.phase).toBe('dialling')
    }
    expect(waits[0]).toBeLessThanOrEqual(500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(limits.redialMaxMs)
    expect(waits).toEqual([...waits].sort((x, y) => x - y))
  })

  it('is over within 2 s of the return of a hub that was away for however long', () => {
    fc.assert(
      fc.property(
        fc.nat(600_000),
        fc.nat(100),
        fc.infiniteStream(fc.double(chance)),
        (away, dialMs, dice) => {
          const b = new Bench(() => dice.next().value).open().pass(limits.settledMs)
          const back = b.now + away
          b.do({ type: 'closed', gen: 1, code: 1006 })
          for (;;) {
            b.retried()
            if (b.now >= back) break
            b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 })
          }
          b.pass(dialMs).connected()
          expect(b.now - back).toBeLessThanOrEqual(2_000)
        },
      ),
    )
  })

  it('of many pages at once is retried at spread times, so that the hub is not overloaded', () => {
    const waits = Array.from({ length: 300 }, (_, page) => {
      const b = new Bench(() => page / 300).do({ type: 'start' })
      for (let i = 0; i < 5; i++) b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 }).retried()
      b.do({ type: 'closed', gen: b.m.main!.gen, code: 1006 })
      return b.m.retryAt! - b.now
    })
    for (let from = 250; from < limits.redialMaxMs; from += 250)
      expect(waits.filter((ms) => ms >= from && ms <= from + 250).length).toBeLessThanOrEqual(65)
  })

  it('while hidden is not retried until the page is seen', () => {
    const b = new Bench()
      .open()
      .do({ type: 'hidden' })
      .do({ type: 'closed', gen: 1, code: 1006 })
      .pass(60_000)
    expect(b.m.main).toBeNull()
    expect(b.do({ type: 'wake' }).m.main?.phase).toBe('dialling')
  })

  it('of a dial that hangs ends after 10 s', () => {
    const b = new Bench().do({ type: 'start' }).pass(10_000)
    expect([b.alive.size, b.m.failures]).toEqual([0, 1])
  })

  it('of a dial that hangs is raced by a second dial, and the first that lives is kept', () => {
    const b = new Bench().do({ type: 'start' }).pass(limits.slowMs)
    expect([...b.alive]).toEqual([1, 2])
    b.connected(2).pass(limits.dialMs)
    expect([b.m.main?.gen, b.m.main?.phase, [...b.alive]]).toEqual([2, 'open', [2]])
  })

  it('of a dial that hung before the wake is raced by a second dial at once', () => {
    const b = new Bench()
      .do({ type: 'start' })
      .pass(limits.probeMs + 1)
      .do({ type: 'wake' })
    expect([...b.alive]).toEqual([1, 2])
  })

  it('asks over HTTP why a dial failed, and stops where that will not change', () => {
    const b = new Bench().do({ type: 'start' }).do({ type: 'closed', gen: 1, code: 1006 })
    expect(b.effects).toContainEqual({ do: 'ask_health' })
    b.do({ type: 'health', refusal: 'unauthorized' }).pass(60_000)
    expect([b.m.refusal, b.alive.size]).toEqual(['unauthorized', 0])
    expect(b.do({ type: 'start' }).m.main?.phase).toBe('dialling')
  })

  it('with close code 4003 is final', () => {
    const b = new Bench().open().do({ type: 'closed', gen: 1, code: 4003 }).pass(60_000)
    expect(b.m).toMatchObject({ refusal: 'forbidden', main: null })
  })

  it('by a sign-in that ended is checked over HTTP: final, unless this browser was paired again', () => {
    const b = new Bench().open().do({ type: 'closed', gen: 1, code: 4001 })
    expect(b.effects).toContainEqual({ do: 'ask_health' })
    b.do({ type: 'health', refusal: 'unauthorized' }).pass(60_000)
    expect(b.m).toMatchObject({ refusal: 'unauthorized', main: null })
    const again = new Bench().open().do({ type: 'closed', gen: 1, code: 4001 })
    again.do({ type: 'health', refusal: null }).pass(1_000)
    expect(again.m).toMatchObject({ refusal: null, main: { phase: 'dialling' } })
  })

  it('by a sign-in that ended is checked again at each wake, as another tab may have paired this browser', () => {
    const b = new Bench().open().do({ type: 'closed', gen: 1, code: 4001 })
    b.do({ type: 'health', refusal: 'unauthorized' })
    b.effects.length = 0
    b.do({ type: 'wake' })
    expect(b.effects).toContainEqual({ do: 'ask_health' })
    expect(b.m.main).toBeNull()
    b.do({ type: 'health', refusal: null })
    expect(b.m).toMatchObject({ refusal: null, main: { phase: 'dialling' } })
  })

  it('of a hub that speaks a newer protocol is final', () => {
    const b = new Bench().do({ type: 'start' })
    b.do({ type: 'connected', gen: 1, heartbeatMs: 10_000, protocol: limits.protocol + 1 }).pass(60_000)
    expect([b.m.refusal, b.m.main, b.alive.size]).toEqual(['version', null, 0])
  })

  it.each([1001, 1006, 1009, 4004, 4008, 4009])('with close code %i is retried', (code) => {
    expect(new Bench().open().do({ type: 'closed', gen: 1, code }).pass(1_000).m.main?.gen).toBe(2)
  })

  it('of connections that close soon after they open is retried with growing waits, until one lasts', () => {
    const b = new Bench().open()
    const wait = () => {
      b.do({ type: 'closed', gen: b.m.main!.gen, code: 1009 })
      return b.m.retryAt! - b.now
    }
    const waits: number[] = []
    for (let i = 0; i < 10; i++) {
      waits.push(wait())
      b.retried().connected().pass(100)
    }
    expect(waits[0]).toBeLessThanOrEqual(limits.backoffMinMs)
    expect(waits[5]).toBeGreaterThan(3_000)
    expect(waits).toEqual([...waits].sort((x, y) => x - y))
    expect(Math.max(...waits)).toBeLessThanOrEqual(limits.backoffMaxMs)
    b.pass(limits.settledMs)
    expect(wait()).toBeLessThanOrEqual(limits.backoffMinMs)
    // A wake resets the backoff.
    b.retried().connected().pass(100)
    expect(wait()).toBeGreaterThan(limits.backoffMinMs)
    b.do({ type: 'wake' }).connected().pass(100)
    expect(wait()).toBeLessThanOrEqual(limits.backoffMinMs)
  })

  it('after a goodbye waits as long as the hub asks', () => {
    const b = new Bench().open().do({ type: 'goodbye', gen: 1, retryAfterMs: 3000 }).pass(2_900)
    expect(b.m.main).toBeNull()
    expect(b.pass(400).m.main?.gen).toBe(2)
  })

  it('of both racing sockets is a failure like any other', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' })
    b.do({ type: 'closed', gen: 2, code: 1006 }).do({ type: 'closed', gen: 1, code: 1006 })
    expect(b.m.retryAt).not.toBeNull()
    expect(b.pass(1_000).m.main?.gen).toBe(3)
  })

  it('of a hub that says goodbye on the old socket makes the spare the connection, too', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' })
    b.do({ type: 'goodbye', gen: 1, retryAfterMs: 5_000 })
    expect([b.m.main?.gen, b.m.spare, b.m.retryAt, [...b.alive]]).toEqual([2, null, null, [2]])
  })

  it('of a spare that became the connection and hangs ends after 10 s', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' }).do({ type: 'closed', gen: 1, code: 1006 })
    b.pass(limits.dialMs)
    expect([b.m.main, b.m.failures]).toEqual([null, 1])
  })

  it('of the old socket in a race makes the spare the connection', () => {
    const b = new Bench().open().sleep(60_000).do({ type: 'wake' }).do({ type: 'closed', gen: 1, code: 1006 })
    expect([b.m.main?.gen, b.m.spare]).toEqual([2, null])
  })
})

it('keeps its invariants for any order of events', () => {
  const gen = fc.nat(3)
  const act = fc.oneof<fc.Arbitrary<(b: Bench) => void>[]>(
    fc.nat(20_000).map((ms) => (b: Bench) => void b.pass(ms)),
    fc.nat(100_000).map((ms) => (b: Bench) => void b.sleep(ms)),
    fc.nat(4_000_000).map((ms) => (b: Bench) => void b.setBack(ms)),
    fc.boolean().map((jumped) => (b: Bench) => void b.do({ type: 'wake', jumped })),
    gen.map((back) => (b: Bench) => {
      const g = b.m.gens - back
      if (b.alive.has(g)) b.connected(g)
    }),
    gen.map((back) => (b: Bench) => void b.do({ type: 'closed', gen: b.m.gens - back, code: 1006 })),
    fc.constant(
      (b: Bench) =>
        void (b.m.main && b.do({ type: 'pong', gen: b.m.main.gen, nonce: b.m.probe?.nonce ?? '' })),
    ),
    fc.constant((b: Bench) => void b.do({ type: 'offline' })),
    fc.constant((b: Bench) => void b.do({ type: 'sent' })),
    fc.constant(
      (b: Bench) => void (b.m.main && b.do({ type: 'goodbye', gen: b.m.main.gen, retryAfterMs: 500 })),
    ),
  )
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const b = new Bench().do({ type: 'start' })
      for (const a of acts) {
        a(b)
        expect(b.alive.size).toBeLessThanOrEqual(2)
        for (const link of [b.m.main, b.m.spare]) if (link) expect(b.alive.has(link.gen)).toBe(true)
        expect(b.alive.size).toBe(Number(b.m.main !== null) + Number(b.m.spare !== null))
        // The machine never gets stuck: it has a socket, a due dial, or waits hidden for a wake.
        if (!b.m.main && b.m.hiddenSince === null) expect(b.timers.has('retry')).toBe(true)
      }
      // From any state, a wake and an answering hub lead to a connection.
      b.do({ type: 'wake' }).pass(limits.probeMs + limits.dialMs)
      for (let i = 0; i < 3 && b.m.main?.phase !== 'open'; i++) {
        if (b.m.main) b.connected()
        else b.pass(limits.backoffMaxMs)
      }
      expect(b.m.main?.phase).toBe('open')
    }),
    { numRuns: 1000 },
  )
})
