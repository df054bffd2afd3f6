// Writes a session that is too long to record in a test into the data folder of a hub that is not started yet.
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import type { Hub } from './hub.ts'

const tool = join(resolve(import.meta.dirname, '../../../bin'), 'longsession')

/**
 * Writes a session of this many events and returns its id. A turn has 500 events. A message has
 * up to 40 chunks, so there are fewer rows than events.
 */
export function longSession(hub: Hub, events: number): string {
  if (hub.origin) throw new Error('a log is written by one process: write it before the hub is started')
  const args = ['--data', hub.data, '--events', String(events), '--workspace', hub.workspace]
  return execFileSync(tool, args, { encoding: 'utf8' }).trim()
}
