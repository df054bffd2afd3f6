// Package desk is a person's place at a session on a terminal: the prompt box, the questions
// that wait, and the lists of the agent's settings and of the prompts in the queue.
//
// A Desk is fed with the session's events and states, with keys and with the messages of its
// own commands, by one goroutine. What waits for the hub runs in a command.
package desk
