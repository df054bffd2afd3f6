import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { initial, reduce } from '../src/state/app'
import { after, emptyFeed } from '../src/state/feed'
import { cursor } from '../src/state/session'
import { describe as say } from '../src/ui/feed/describe'
import { parseFrame } from '../src/wire/frames'
import { eventTypes, type AbideEvent } from '../src/wire/gen'

const repo = resolve(__dirname, '../..')
const serverFrames = join(repo, 'server/wire/testdata/server')
const events = readFileSync(join(repo, 'session/event/testdata/events.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as AbideEvent)

describe('the golden frames', () => {
  const id = '20260221-140307-9f3a11c0'

  it.each(readdirSync(serverFrames))('%s is known and reduced', (name) => {
    const frame = parseFrame(readFileSync(join(serverFrames, name), 'utf8'))
    expect(frame?.type).toBe(name.replace('.json', ''))
    const open = reduce(initial, { kind: 'open', sessionId: id })
    expect(() => reduce(open, { kind: 'frame', frame: frame! })).not.toThrow()
  })

  it('of a reset restart the session at their seq', () => {
    const frame = parseFrame(readFileSync(join(serverFrames, 'events_loaded.json'), 'utf8'))!
    const open = reduce(initial, { kind: 'open', sessionId: id })
    expect(cursor(reduce(open, { kind: 'frame', frame }).sessions.get(id)!)).toEqual({
      epoch: '0123456789abcdef',
      seq: 43,
    })
  })

  it('of an unknown type are recognised as unknown', () => {
    expect(parseFrame('{"type":"hologram"}')).toBeNull()
    expect(parseFrame('{"type":"constructor"}')).toBeNull()
    expect(parseFrame('[1]')).toBeNull()
    expect(parseFrame('{')).toBeNull()
  })
})

describe('the golden events', () => {
  it('have one of every kind', () => {
    expect(events.map((e) => e.type).sort()).toEqual([...eventTypes].sort())
  })

  it('fold, and none is taken for unknown', () => {
    const feed = after(emptyFeed(0), events)
    expect(feed.last).toBe(events.length)
    expect([...feed.items].map((i) => i.kind)).not.toContain('unknown')
  })

  it('that have no card are described in words', () => {
    for (const item of after(emptyFeed(0), events).items) {
      if (item.kind === 'event') expect(say(item.event).text, item.event.type).not.toBe(item.event.type)
    }
  })
})
