// Package client speaks to a hub from Go: its HTTP routes and its socket.
//
// A Hub is where to find it and with which token. A Socket is one connection:
// frames come in the order of the wire, requests find their answers. A History
// is the rule by which one session's events are applied, without any I/O. A
// Watch joins them: it keeps one session true to the hub's log over any number
// of connections, resuming each time by cursor.
package client
