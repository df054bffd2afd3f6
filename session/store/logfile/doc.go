// Package logfile reads and writes the lines of one file of a session's log.
//
// It writes and parses lines, verifies their checksums, decides which lines of a
// file count, and finds the offset of a seq. It knows nothing of sessions, of
// metadata or of several files: that is package store.
//
// # The lines
//
// Each line is one event:
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
package logfile
