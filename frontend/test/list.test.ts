import { expect, test } from 'vitest'
import { byNeed } from '../src/state/select'
import type { SessionInfo } from '../src/wire/gen'

function line(
  session_id: string,
  status: SessionInfo['status'],
  minute: number,
  over: Partial<SessionInfo> = {},
) {
  const updated_at = `2026-02-21T14:${String(minute).padStart(2, '0')}:00Z`
  return { session_id, status, updated_at, pinned: false, archived: false, ...over } as SessionInfo
}

test('sessions that need an answer come first, then running ones, then the rest; pinned and newest before others', () => {
  const order = byNeed([
    line('old', 'idle', 1),
    line('archived', 'needs_you', 59, { archived: true }),
    line('running', 'running', 2),
    line('new', 'idle', 50),
    line('asks', 'needs_you', 3),
    line('pinned', 'idle', 0, { pinned: true }),
    line('asks later', 'needs_you', 4),
    line('running pinned', 'running', 1, { pinned: true }),
  ])
  expect(order.map((s) => s.session_id)).toEqual([
    'asks later',
    'asks',
    'running pinned',
    'running',
    'pinned',
    'new',
    'old',
    'archived',
  ])
})
