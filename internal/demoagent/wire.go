package demoagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// wire is the agent's output. Beside the SDK's messages it takes those the SDK
// has no type for, and tells when a turn's answer has left.
type wire struct {
	mu    sync.Mutex
	out   io.Writer
	after []func() // guarded by mu: run behind the next answer to a prompt
}

// Write implements io.Writer for whole lines.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(p)
	if bytes.Contains(p, []byte(`"result":{"stopReason"`)) {
		for _, do := range w.after {
			go do() // it writes too, so it cannot run in here; it ends with its write
		}
		w.after = nil
	}
	return n, err
}

// behindAnswer runs do once the answer to the prompt was written.
func (w *wire) behindAnswer(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = append(w.after, do)
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
