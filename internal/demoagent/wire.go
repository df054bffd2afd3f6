package demoagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// wire is the agent's output. Beside the SDK's messages it takes those the SDK
// has no type for, and tells when an answer has left.
type wire struct {
	mu     sync.Mutex
	out    io.Writer
	after  map[string][]func() // guarded by mu: run behind the next such answer
	asking int                 // guarded by mu
}

// The answers that something may follow, as they begin.
const (
	promptAnswer  = `"result":{"stopReason"`
	sessionAnswer = `"modes":{"availableModes"`
)

// Write implements io.Writer for whole lines, one or many.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(p)
	for answer, list := range w.after {
		if bytes.Contains(p, []byte(answer)) {
			for _, do := range list {
				go do() // it writes too, so it cannot run in here; it ends with its write
			}
			delete(w.after, answer)
		}
	}
	return n, err
}

// behind runs do once that answer was written.
func (w *wire) behind(answer string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.after == nil {
		w.after = map[string][]func(){}
	}
	w.after[answer] = append(w.after[answer], do)
}

// request writes a request of any form; id is its id, for order.await.
func (w *wire) request(method string, params any) (id string, err error) {
	w.mu.Lock()
	w.asking++
	id = fmt.Sprintf("demo-%d", w.asking)
	w.mu.Unlock()
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", method, err)
	}
	_, err = w.Write(append(line, '\n'))
	return id, err
}

// notify writes a notification of any form.
func (w *wire) notify(method string, params any) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
