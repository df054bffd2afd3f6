// Package usage counts what sessions used, by turn: tokens, cost, time and tool calls. It
// reads the events of a log, knows no session and no file.
//
// # Tokens
//
// An agent says at the end of a turn how many tokens its model took. Most agents count
// the turn; some count all turns of their session so far. A log that has the sizes of the
// agent's context tells them apart. In a turn with n tool calls the model is asked about n+1
// times, or as often as the context was told, and each time takes at most the largest
// context; once it takes that. If the account of a turn is above all of that, if what it is more
// than the account before is within it, and if no account ever fell, the agent counts all
// turns, and a turn used the difference. Without that proof an account is of its turn, as it
// is with every agent whose traces are in the repository.
//
// A turn whose end has no account is counted as unreported: nothing is guessed.
//
// # Cost
//
// The cost that an agent reports is that of its session so far. A turn cost what it is more
// than before. If it fell, the agent counts from 0 again.
package usage
