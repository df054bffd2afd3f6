// Package client speaks to a hub from Go: its HTTP routes and its socket.
//
// A Hub is where to find it and with which token: `abide token` prints one of the
// owner's, `abide token --scope` those that may do less. A Watch keeps one session true
// to the hub's log over any number of connections: it goes on at the event where the
// connection before it ended, so that nothing is missing and nothing comes twice. That
// is all that most programs need.
//
// Below it, a Socket is one connection: frames come in the order of the wire, requests
// find their answers. A History is the rule by which one session's events are applied,
// without any I/O.
//
// The bodies of requests and answers are those of package server/wire, events those of
// package session/event. The commands of abide use this package.
package client
