// Package list has the sessions as a client lists them: the line of each, pages of
// lines, the feed of changes, and how far each person has read.
package list
