// A session too long to record in a test, written into the folder of a hub not yet started.
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import type { Hub } from './hub.ts'

const tool = join(resolve(import.meta.dirname, '../../../bin'), 'longsession')

/**
 * Writes a session of so many events and returns its id. Turns have 500 events,
 * and up to 40 of them are the chunks of one message: rows are fewer than events.
 */
export function longSession(hub: Hub, events: number): string {
  if (hub.origin) throw new Error('a log is written by one process: write it before the hub is started')
  const args = ['--data', hub.data, '--events', String(events), '--workspace', hub.workspace]
  return execFileSync(tool, args, { encoding: 'utf8' }).trim()
}
