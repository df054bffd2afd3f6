// Package tape reads the events of a session from a hub or from an exported file, from any place
// on, for those who play it.
package tape
