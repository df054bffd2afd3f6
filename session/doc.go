// Package session runs agents: one turn at a time in each session, whether the
// session is watched or not.
//
// A BackgroundSession is one session. One goroutine owns its turn, its open
// permission requests, its queue and its agent. Every verb, every line of the agent
// and every timer passes through that goroutine's mailbox, so the order of the log
// is the order of its state. Events go into the log, and observers pull them from
// there. Values of which only the latest counts are a State. The Manager holds all
// sessions.
//
// That goroutine is an engine, and its parts are called from it. The foldedLog writes
// the log and folds it. The agentSlot starts and stops the agent. settingsGuard and
// restorer check and prepare a restarted agent before its next turn. turns begins
// and ends turns, questions settles the agent's requests, intake takes prompts,
// resumer settles interruptions, and agentOutput records the agent's output. They share
// the turnRun: the phase of the open turn, with a table of the phases that may follow.
// A part calls those before it in newEngine. The parts that end a turn call turnEnder.
package session
