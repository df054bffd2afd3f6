// Package index keeps the texts of sessions in one derived database, so that a search need
// not read the logs.
//
// The database is SQLite's, with its full-text index over all runs of three characters
// (docs/adr/0074). It has the passages of package search, as their events say them, and for
// each session the event up to which it was read. A sample in memory tells which runs are
// rare. One goroutine fills the database behind the logs, from their files; a transaction has
// texts and place together. It may be missing, old or damaged at any time: it is made again,
// and search reads the files meanwhile.
package index
