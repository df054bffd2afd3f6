// Package session keeps agents at work: it runs one turn at a time in each session,
// whether it is watched or not.
//
// A BackgroundSession is one session. One goroutine owns its turn, its open
// permission requests, its queue and its agent; every verb, every line of the agent
// and every timer passes through that goroutine's mailbox, so the order of the log
// is the order of its state. Events go into the log and observers pull them from
// there; values of which only the latest counts are a State. The Manager knows the
// sessions.
package session
