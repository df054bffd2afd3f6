// Package journal is the contract between sessions and whatever keeps them: the
// interfaces Store, Lease, Log, Meta, Blobs and Files, with the errors and values that
// cross them. Package session/store keeps sessions in local files, package
// session/journal/memory in memory. Package session/journal/journaltest has the
// promises as a suite that every implementation passes.
//
// # The promises
//
//   - Order. A log gives its events the seqs 1, 2, 3 and so on. A pair of epoch and seq
//     that a reader saw never identifies another event.
//   - All or none. An append writes all of its drafts or none of them, and a failed one
//     uses no seq.
//   - Written before seen. Readers see an event once it is written, and an event of a
//     durable type (event.Type.Durable) once a power cut cannot take it back. Events
//     become visible in order. An append has returned by then, or returns soon after.
//   - Blob before line. A blob is stored before the event that names it becomes visible.
//     If the blob cannot be stored, the event is not written.
//   - One writer. A session is written by the holder of its latest Lease. Every write of
//     an earlier holder is ErrFenced and has no effect.
//   - Expected seq. An append that names the next seq writes nothing if the log is
//     somewhere else.
//   - Labels first. Labels that a person set are stored when Label returns. The rest of
//     the metadata may be older than the log and older than the labels; opening a session
//     brings it up to date.
//   - Derived files may be missing, old or damaged at any time, and no other promise
//     depends on them.
//   - Reading needs no lease and never waits for writing.
package journal
