// Package workspace lists, reads and completes the files of a folder for people, and
// never shows a file outside of the folder, in .git, or of the hub itself.
package workspace
