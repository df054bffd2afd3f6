// Package playback reads a recorded session for review: a Player that moves
// through its events, and an Overview that counts them. Both only read a log and
// can always be made again from it.
package playback
