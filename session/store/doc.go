// Package store keeps sessions as append-only files that survive crashes and power
// cuts.
//
// A Store is a data directory, a Log one session's events, Metadata its summary for
// lists. docs/storage.md describes every file; this is the log itself.
//
// # The lines
//
// A log is the lines of events-<first>-<last>.jsonl in order of <first>, and then
// of events.jsonl. Package logfile defines a line and decides which lines of a file
// count.
//
// # The order of things
//
// An append is one write(2). Three marks follow from it: written (the kernel has
// it), synced (the disk has it), and visible (readers have it). Events of a
// durable type become visible once synced, others once written, and never out of
// order. Appends that come while a write runs share the next one; callers that
// wait for the disk share its syncs. No lock is held over either that a reader
// needs: readers take visible, which is an atomic number, and then bytes that
// never change.
//
// # What belongs to the log
//
// The same rules decide in recovery, in readers and in Check (logfile.Order): a line
// counts if its checksum is right, or if it is absent or wrong and the line reads as
// the very next event. A seq that was there before does not count again. A seq that
// is missing is a hole, shown as a placeholder. Bytes after the last line that
// counts, a torn tail, are cut off when the log is opened, after a copy is in
// quarantine; nothing else is ever changed.
//
// # The files of this package
//
// Each file uses only files below it, which a test holds (internal/tools/archtest). From the
// bottom: errors, options and names; one segment, its marks and its health (core);
// reading; metadata; the writer and what ends or begins a file (mark, seal); append;
// retention, repair and reopening; the flusher's work (upkeep); Log; recovery, which
// fills a Log; opening; Store; check and repair. The copies of other machines' logs use the
// lower ones: the end of a copy, its files, Copy, Copies.
package store
