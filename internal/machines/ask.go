package machines

import (
	"bytes"
	"context"
	"errors"
	"net/http"
)

// Answer is a machine's whole answer to a short request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// mostAnswer limits the body of an Answer.
const mostAnswer = 1 << 20

// Ask is Call with a body and an answer of at most 1 MiB, in memory. The body is JSON. An
// answer that breaks off is ErrOpen.
func (h *Home) Ask(ctx context.Context, machine string, by Caller, method, target, key string, body []byte) (a Answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := &kept{header: http.Header{}}
	if err := broken(func() error { return h.Call(w, r, machine, by) }); err != nil {
		return a, err
	}
	return Answer{w.status, w.header, w.body.Bytes()}, nil
}

// broken runs a Call. An answer that breaks off is ErrOpen.
func broken(call func() error) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			err = ErrOpen
		} else if p != nil {
			panic(p)
		}
	}()
	return call()
}

// kept is a response that is kept in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(data []byte) (int, error) {
	if k.body.Len()+len(data) > mostAnswer {
		return 0, errors.New("the answer is too long")
	}
	return k.body.Write(data)
}
