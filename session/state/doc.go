// Package state says what a session is after its events: parts that apply events and
// encode themselves. It has the words that all code about sessions shares: the errors
// of requests, the status of a session, and its observers.
package state
