// Package blobs keeps the large values and the uploads of one session, in files that are
// named by the SHA-256 of their bytes.
//
// A Folder puts, reads and verifies them. Beside an uploaded blob lies a small file for
// each name and type it came under. Shrink moves the large values of an event into blobs.
// The package knows nothing of logs.
package blobs
