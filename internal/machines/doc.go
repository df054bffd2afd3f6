// Package machines joins the hubs of several computers. One of them is home: its list has
// the sessions of all. Each of the others, a machine, keeps its own sessions, logs, agents
// and speed, and dials out to home.
//
// A machine opens one WebSocket at home's address, which carries the protocol of NATS to a
// server inside home's process. That server listens on no port, keeps nothing, and starts
// with the first machine. A machine may publish and subscribe below m.<its id>. and nowhere
// else. What the two say to each other there:
//
//	m.ID.rows           machine to home, acknowledged: changed lines of its session list
//	m.ID.hello          machine to home, answered: what it is
//	m.ID.leave          machine to home, answered: it leaves
//	m.ID.call.N.begin   home to machine: begin call N, an HTTP request
//	m.ID.call.N.body    home to machine, acknowledged: more of the call's body
//	m.ID.call.N.cancel  home to machine: nobody waits for call N any more
//	m.ID.read           home to machine, answered: what is new in a session's log
//	m.ID.answer.N       machine to home, acknowledged unless it is the last part: the answer
//
// A message is one line of JSON, and behind it the bytes that it is about. Whoever sends
// many parts waits for the acknowledgement of each, so that neither side holds more than
// one, and the engine loses none.
package machines
