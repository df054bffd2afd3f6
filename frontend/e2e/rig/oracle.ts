// The oracle: it compares the log on disk with the events that a screen has applied and shows. No
// event may be missing, and none may be applied twice.
import { expect } from 'vitest'
import type { AbideEvent } from '../../src/wire/gen.ts'
import type { Hub } from './hub.ts'
import type { Screen, ShownRow } from './screen.ts'

/**
 * Fails unless the screen has applied exactly the events of the log and shows exactly the words of
 * the agent and of people, in order. The log must not grow during the check.
 */
export async function expectWhole(screen: Screen, hub: Hub, session: string, within?: number): Promise<void> {
  const log = hub.events(session)
  expect(
    log.map((e) => e.seq),
    'the log is contiguous',
  ).toEqual(log.map((_, i) => i + 1))
  await screen.reaches(session, log.length, within)
  const rows = await screen.rows()
  const facts = await screen.facts()
  expect(facts, 'the screen holds every event of the log once').toMatchObject({
    epoch: (await hub.session(session)).epoch,
    first: 1,
    seq: log.length,
    applied: log.length,
  })
  expect(rows.map((r) => r.key)).toEqual([...new Set(rows.map((r) => r.key))])
  expect(
    rows.map((r) => r.last),
    'no event is part of two rows',
  ).toEqual([...new Set(rows.map((r) => r.last))])
  expect(asked(rows), 'every prompt is shown once, in order').toEqual(promptIds(log))
  expect(shownNumbers(rows), 'what the agent said is shown once, in order').toEqual(saidNumbers(log))
  expectClean(screen, await screen.watched())
}

function expectClean(screen: Screen, watched: Awaited<ReturnType<Screen['watched']>>): void {
  expect(watched.most, 'sockets at once').toBeLessThanOrEqual(2)
  expect(watched.violations).toEqual([])
  expect(screen.errors).toEqual([])
}

/**
 * A screen's rows without their keys, because the key of a row may differ between screens.
 */
export async function shownBy(screen: Screen): Promise<Omit<ShownRow, 'key'>[]> {
  return (await screen.rows()).map(({ seq, last, text }) => ({ seq, last, text }))
}

function promptIds(log: AbideEvent[]): string[] {
  return log.flatMap((e) => (e.type === 'user_prompt' ? [`prompt:${e.data.prompt_id}`] : []))
}

function asked(rows: ShownRow[]): string[] {
  return rows.map((r) => r.key).filter((key) => key.startsWith('prompt:'))
}

/** The numbers that `/slow` and `/burst` print. A missing or repeated number is a missing or repeated event. */
export function saidNumbers(log: AbideEvent[]): number[] {
  return numbers(
    log.map((e) => (e.type === 'agent_message' && typeof e.data.text === 'string' ? e.data.text : '')),
  )
}

function shownNumbers(rows: ShownRow[]): number[] {
  return numbers(rows.map((r) => (r.key.startsWith('text:') ? r.text : '')))
}

function numbers(texts: string[]): number[] {
  return [...texts.join('\n').matchAll(/\d+/g)].map((m) => Number(m[0]))
}
