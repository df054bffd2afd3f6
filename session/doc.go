// Package session keeps agents at work: it runs one turn at a time in each session,
// whether it is watched or not.
//
// A BackgroundSession is one session. One goroutine owns its turn, its open
// permission requests, its queue and its agent; every verb, every line of the agent
// and every timer passes through that goroutine's mailbox, so the order of the log
// is the order of its state. Events go into the log and observers pull them from
// there; values of which only the latest counts are a State. The Manager knows the
// sessions.
//
// That goroutine is an engine, and its parts are called from it: the journal writes
// the log and folds it, the agentSlot starts and stops the agent, settingsGuard and
// restorer stand between an agent that came back and its next turn, turns begins and
// ends turns, questions settles the agent's requests, intake takes prompts, resumer
// settles interruptions, and agentOutput records the agent's output. A part calls
// those before it in newEngine; the parts that end a turn do so by turnEnder.
package session
