package demoagent

import sdk "github.com/coder/acp-go-sdk"

// session is one conversation. One prompt at a time works on it.
type session struct {
	id        sdk.SessionId
	workspace string
	scratch   scratch
	turns     int
	messages  int
	tools     int
	used      int // pretended tokens
}
