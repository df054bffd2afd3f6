import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { after, emptyFeed } from '../src/state/feed'
import { momentOf } from '../src/state/moment'
import { aboutWhen, orderOf } from '../src/state/overview'
import { Pages, pageSeqs, type Ask } from '../src/state/pages'
import { idleMs, Player } from '../src/state/player'
import type { AbideEvent, Overview } from '../src/wire/gen'
import { epoch, loadedFrame, Script } from './support/script'

const golden = readFileSync(resolve(__dirname, '../../session/event/testdata/events.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as AbideEvent)

/** A seeded random generator of integers below n. */
function dice(seed: number): (n: number) => number {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * n)
  }
}

/** A session of many turns with overlapping messages and calls, with pauses, and a clock that is set back once. */
function long(events: number, seed: number): AbideEvent[] {
  const roll = dice(seed)
  const script = new Script()
  let turn = 0
  let calls = 0
  while (script.events.length < events) {
    const end = script.events.length + 40 + roll(400)
    script.add('user_prompt', { prompt_id: `p${++turn}`, text: `Do ${turn}`, actor: 'phone' })
    while (script.events.length < end) {
      const call = `c${1 + roll(calls + 1)}`
      const kind = roll(9)
      if (kind < 3) script.say(`m${turn}`, 'word ', 'and ')
      else if (kind === 3)
        script.add('tool_call', { tool_call_id: `c${++calls}`, title: `Call ${calls}`, status: 'pending' })
      else if (kind === 4) script.add('tool_call_update', { tool_call_id: call, status: 'completed' })
      else if (kind === 5)
        script.add('plan', { entries: [{ content: `step ${roll(9)}`, priority: 'low', status: 'pending' }] })
      else if (kind === 6)
        script.add('permission_request', {
          permission_id: `q${calls}-${script.events.length}`,
          title: 'May I?',
          options: [],
          tool_call: {},
        })
      else if (kind === 7) script.add('usage', { used: roll(1000), size: 1000 })
      else script.add('mode', { mode_id: `mode ${roll(3)}` })
    }
    script.add('turn_end', { prompt_id: `p${turn}`, stop_reason: 'end_turn' })
  }
  let time = Date.UTC(2026, 1, 21)
  return script.events.map((event, i) => {
    time += roll(40) === 0 ? 60_000 : i === 700 ? -5_000 : roll(300)
    return { ...event, time: new Date(time).toISOString() }
  })
}

/** The overview that the hub would compute from the events. */
function overviewOf(events: readonly AbideEvent[]): Overview {
  const from = Date.parse(events[0]!.time)
  const latest = events.reduce((newest, event) => Math.max(newest, Date.parse(event.time)), from)
  return {
    epoch,
    min_seq: events[0]!.seq,
    at_seq: events.at(-1)!.seq,
    from: events[0]!.time,
    to: new Date(latest).toISOString(),
    time: { bucket_ms: 1000, events: [] },
    order: orderOf(events, idleMs),
    marks: [],
    turns: [],
  }
}

function source(events: readonly AbideEvent[]) {
  let asked = 0
  const ask: Ask = (seq, limit) => {
    asked++
    const page = events.filter((e) => e.seq > seq).slice(0, limit)
    return Promise.resolve(loadedFrame(page, { epoch }))
  }
  const overview = overviewOf(events)
  const pages = new Pages(ask, epoch, overview.min_seq)
  return { player: new Player(pages, overview), pages, asked: () => asked }
}

const never = new AbortController().signal

/** Fails unless the player's feed at `seq` equals the fold of all events up to it, as far back as the feed begins. */
function expectFold(player: Player, events: readonly AbideEvent[], seq: number) {
  expect(player.seq).toBe(seq)
  const all = after(
    emptyFeed(events[0]!.seq - 1),
    events.filter((e) => e.seq <= seq),
  )
  const { first, last, count } = player.feed
  expect([last, count]).toEqual([seq, seq - first + 1])
  // The first row may lack its start, and a call that began before the feed has its row at its first update.
  const whole = [...all.items].filter((i) => i.seq >= first).map((i) => i.key)
  expect([...player.feed.items].map((i) => i.key)).toEqual(expect.arrayContaining(whole.slice(1)))
  if (first === events[0]!.seq) expect([...player.feed.items]).toEqual([...all.items])
  return all
}

const traceDir = resolve(__dirname, '../../session/acp/testdata/traces')

/** A session that repeats a recorded agent's events. The tests of the player in Go use the same recordings. */
function recorded(name: string, events: number, seed: number): AbideEvent[] {
  const said = readFileSync(resolve(traceDir, name), 'utf8').trim().split('\n')
  const roll = dice(seed)
  const list: AbideEvent[] = []
  let turn = 1
  let time = Date.UTC(2026, 1, 21)
  const add = (event: object) => {
    time += roll(40) === 0 ? 60_000 : roll(500) - 50
    list.push({ ...event, seq: list.length + 1, time: new Date(time).toISOString(), turn } as AbideEvent)
  }
  const ask = () => add({ type: 'user_prompt', data: { prompt_id: `p${turn}`, text: 'Go on.' } })
  while (list.length < events) {
    ask()
    for (const line of said) {
      const { type, data } = JSON.parse(line) as AbideEvent
      add({ type, data })
      if (type !== 'turn_end') continue
      turn++
      ask()
    }
  }
  return list
}

const sessions = {
  golden,
  'of 2,200 events': long(2200, 1),
  ...Object.fromEntries(readdirSync(traceDir).map((name, i) => [name, recorded(name, 600, i)])),
}

describe.each(Object.entries(sessions))('a player of the session %s', (name, events) => {
  it.each(name.endsWith('.jsonl') ? [1] : [1, 2])(
    'equals the fold of all events at each place, whichever way it was reached (seed %s)',
    async (seed) => {
      const roll = dice(seed)
      const { player } = source(events)
      const last = events.at(-1)!.seq
      for (let i = 0; i < 12; i++) {
        const seq =
          roll(3) === 0 ? Math.max(1, Math.min(last, player.seq + (roll(2) ? 1 : -1))) : 1 + roll(last)
        await player.seek(seq, never)
        let at = seq
        if (roll(3) === 0) {
          player.advance(roll(60_000) * [0.5, 1, 16][roll(3)]!, last)
          at = player.seq
        }
        if (roll(4) === 0) await player.older(never)
        const all = expectFold(player, events, at)
        expect(await player.moment(at, never)).toEqual(momentOf(all))
      }
    },
  )

  it('finds the same event for a time as a search through all events', async () => {
    const { player } = source(events)
    const last = events.at(-1)!.seq
    const roll = dice(9)
    const from = Date.parse(events[0]!.time)
    for (let i = 0; i < 15; i++) {
      const wanted = roll(Date.parse(events.at(-1)!.time) - from)
      const found = await player.seqAt('at', wanted, last, never)
      expect(found).toBe(events.find((e) => Date.parse(e.time) - from >= wanted)!.seq)
      await player.seek(found, never)
      expect(player.offset.at).toBe(Math.max(...events.slice(0, found).map((e) => Date.parse(e.time) - from)))
    }
  })
})

test('a player that plays a session through shows each event once, and takes 2 s for a longer pause', async () => {
  const events = long(3000, 4)
  const { player } = source(events)
  await player.seek(1, never)
  const last = events.at(-1)!.seq
  let played = 0
  let left = 0
  while (player.seq < last) {
    await player.ahead(last, never)
    played += 500
    left = player.advance(left + 500, last)
  }
  expectFold(player, events, last)
  expect(played - left).toBe(player.offset.played)
  expect(player.offset.played).toBeLessThan(player.offset.at)
})

test('the events a player holds do not grow with the session', async () => {
  const events = long(14_000, 5)
  const { player, pages } = source(events)
  for (let seq = 1; seq <= events.length; seq += 500) await player.seek(seq, never)
  await player.seek(events.length, never)
  await player.moment(events.length, never)
  expect(pages.size).toBeLessThanOrEqual(24)
  expect(player.feed.count).toBeLessThanOrEqual(6 * pageSeqs)
})

test('of two seeks the later one wins, whichever answer arrives first', async () => {
  const events = long(3000, 6)
  const waiting: (() => void)[] = []
  const ask: Ask = (seq, limit) =>
    new Promise((give) => waiting.push(() => give(loadedFrame(events.slice(seq, seq + limit), { epoch }))))
  const player = new Player(new Pages(ask, epoch, 1), overviewOf(events))
  const first = player.seek(200, never)
  const second = player.seek(1200, never)
  while (waiting.length > 0) {
    waiting.pop()!()
    await new Promise((next) => setTimeout(next))
  }
  await Promise.all([first, second])
  expect(player.seq).toBe(1200)
})

test('the time of an event on the timeline is never before that of an earlier one', () => {
  const events = long(3000, 7)
  const overview = overviewOf(events)
  const times = events.map((e) => aboutWhen(overview, e.seq))
  expect(times).toEqual([...times].sort((a, b) => a - b))
})
