// Package screen shows sessions on a whole terminal: the list, and one session to read.
//
// Both are observers like any other: they ask the hub for pages, and follow it on a
// socket. The text of a session is that of package plain, wrapped to the width, so it
// moves no cursor and is the same as what `abide show` prints.
package screen
