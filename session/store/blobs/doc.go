// Package blobs stores the large values and the uploads of one session, in files
// named by the SHA-256 of their bytes.
//
// A Folder puts, reads and verifies them. Next to an uploaded blob is a small file
// for each name and type under which it was uploaded. Shrink moves the large values
// of an event into blobs. The package knows nothing about logs.
package blobs
