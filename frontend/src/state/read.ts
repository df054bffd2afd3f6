import type { Seq, SessionInfo } from '../wire/gen'
import type { Left } from './catchup'

/** How far a person has read a session of this epoch. */
export type Read = Left & { readonly epoch: string }

/**
 * The newer of the device's own mark and the hub's, which knows of the person's
 * other screens. `at` stays when it was last seen here; where it never was it is now, or when
 * the session was made if they never looked on any.
 */
export function newest(own: Read | null, line: SessionInfo | undefined, now: number): Read | null {
  if (line?.read_seq === undefined) return own
  if (own?.epoch === line.epoch && own.seq >= line.read_seq) return own
  return {
    epoch: line.epoch,
    seq: line.read_seq,
    at: own?.at ?? (line.read_seq > 0 ? now : Date.parse(line.created_at)),
  }
}

/** How many events of a session came after the read mark; none where nothing is known of that. */
export function unread(line: SessionInfo, read: Read | null): number {
  return read?.epoch === line.epoch ? Math.max(0, line.max_seq - read.seq) : 0
}

/**
 * The seq of the first unread event: set when the person opens the session, and kept until they saw
 * it and moved on.
 */
export class FirstUnread {
  private place: Seq | null = null
  private reached = false

  /** The first seq not read; null when there is none. */
  get seq(): Seq | null {
    return this.place
  }

  /** They came to events they have not read; an earlier place they were not at yet stays. */
  begin(seq: Seq): void {
    if (this.place !== null) return
    this.place = seq
    this.reached = false
  }

  /** They have the events first..last before them. */
  see(first: Seq, last: Seq): void {
    if (this.place === null) return
    if (first > this.place && this.reached) this.place = null
    else if (first <= this.place && this.place <= last) this.reached = true
  }
}
