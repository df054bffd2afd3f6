import { expect, test } from 'vitest'
import { connectionWords, isLost, type Connection } from '../src/state/linkwords'
import type { LinkState } from '../src/state/link'

const now = (phase: LinkState['phase'], over: Partial<Connection> = {}): Connection => ({
  link: { phase },
  waited: 'no',
  opening: false,
  first: false,
  seconds: 0,
  missing: 0,
  ...over,
})

test('an unreachable hub is never shown as catching up, however many events are missing', () => {
  const missing = 5_000
  expect(connectionWords(now('open', { missing }))).toBe('Catching up: 5000 events')
  for (const phase of ['dialling', 'checking', 'waiting'] as const) {
    expect(connectionWords(now(phase, { missing }))).toBe('')
    expect(connectionWords(now(phase, { missing, waited: 'some' }))).toBe('Reconnecting…')
    expect(connectionWords(now(phase, { missing, waited: 'some', seconds: 2 }))).toBe(
      'Reconnecting in 2\u00a0s.',
    )
    expect(connectionWords(now(phase, { missing, waited: 'long', seconds: 3 }))).toBe(
      'No connection to the hub. Retrying in 3\u00a0s.',
    )
    expect(connectionWords(now(phase, { missing, waited: 'long' }))).toBe(
      'No connection to the hub. Retrying…',
    )
  }
})

test('a state that does not end by itself is shown at once', () => {
  for (const phase of ['offline', 'refused'] as const) expect(isLost(now(phase))).toBe(true)
  expect(connectionWords(now('offline', { missing: 5_000 }))).toBe(
    'Offline. Messages will send when you reconnect.',
  )
  expect(connectionWords(now('refused', { link: { phase: 'refused', refusal: 'version' } }))).toMatch(
    /Reload/,
  )
  expect(connectionWords(now('refused', { link: { phase: 'refused', refusal: 'forbidden' } }))).toMatch(
    /Access denied/,
  )
})

test('a hub that is slow to open a session is not shown as unreachable', () => {
  const slow = now('dialling', { waited: 'long', opening: true })
  expect([isLost(slow), connectionWords(slow)]).toEqual([false, ''])
})

test('while a session opens for the first time only a lost connection is shown', () => {
  expect(connectionWords(now('dialling', { waited: 'some', first: true }))).toBe('')
  expect(connectionWords(now('dialling', { waited: 'long', first: true }))).toMatch(/^No connection/)
})
