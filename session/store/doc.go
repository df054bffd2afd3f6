// Package store keeps sessions as append-only files that survive whatever stops
// the machine.
//
// A Store is a data directory, a Log one session's events, Metadata what lists
// show of it. docs/storage.md describes every file; this is the log itself.
//
// # The lines
//
// A log is the lines of events-<first>-<last>.jsonl in order of <first>, and then
// of events.jsonl. Each line is one event:
//
//	{"seq":5,"time":"2026-02-21T14:03:07.123456Z","type":"agent_message","turn":2,"data":{…},"crc":"9f3a11c0"}
//
//	{"seq":        a line begins with these 7 bytes, so that a place is found without decoding
//	5              the seq in decimal, 1 to 2^53-1, one more than the line before
//	,"time":"…"    27 bytes of time, UTC, microseconds
//	,"type":"…"    the kind of event
//	,"turn":2      left out when 0
//	,"data":{…}    the payload: one JSON object, compact, valid UTF-8, no line break
//	,"crc":"…"}    the last 18 bytes: CRC-32C, 8 lower-case hex digits, of all bytes before ,"crc"
//	\n             the newline ends the line; without it the line is not there yet
//
// Cut off the last 18 bytes, append a brace, and the rest is the event as it goes
// over the wire. Reading does that and no more: it checks the checksum and decodes
// no JSON.
//
// # The order of things
//
// An append is one write(2). Three marks follow from it: written (the kernel has
// it), synced (the device has it), and visible (readers have it). Events of a
// durable type become visible once synced, others once written, and never out of
// order. Appends that come while a write runs share the next one; callers that
// wait for the device share its syncs. No lock is held over either that a reader
// needs: readers take visible, which is an atomic number, and then bytes that
// never change.
//
// # What belongs to the log
//
// The same rules decide in recovery, in readers and in Check (type order): a line
// counts if its checksum is right, or if it is absent and the line reads as an
// event, or if it is wrong but the line reads as the very next event. A seq that
// was there before does not count again. A seq that is missing is a hole, shown
// as a placeholder. Bytes behind the last line that counts are cut off when the
// log is opened, after a copy is in quarantine; nothing else is ever changed.
package store
