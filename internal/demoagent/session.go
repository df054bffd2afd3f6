package demoagent

import (
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// session is one conversation. One prompt at a time works on it.
type session struct {
	id        sdk.SessionId
	workspace string

	// playing is held by the turn at work, which owns what follows.
	playing  sync.Mutex
	scratch  scratch
	turns    int
	messages int
	tools    int
	used     int // pretended tokens
}
