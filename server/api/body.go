package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/state"
)

// maxBody limits a request's body to the largest prompt that a socket takes, with
// its envelope.
const maxBody = wire.MaxClientFrame + 64<<10

// read decodes a request's JSON body into to. An empty body leaves to unchanged, unless to is
// exact. It refuses form content types, because browsers send those cross-origin without a
// preflight.
func (c *call) read(to any) error { return c.readUpTo(to, maxBody) }

// readUpTo is read with a limit of that many bytes.
func (c *call) readUpTo(to any, bound int64) error {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if c.r.ContentLength == 0 {
		return mayBeEmpty(to)
	}
	if err != nil || kind != "application/json" {
		return &Problem{Code: wire.CodeInvalid, Status: http.StatusUnsupportedMediaType, Message: "the body is expected as application/json"}
	}
	// The deadline is for the body only, because the connection may carry a stream
	// afterwards.
	control := http.NewResponseController(c.w)
	if err := control.SetReadDeadline(time.Now().Add(c.server.request)); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, bound))
	if err != nil {
		var tooLong *http.MaxBytesError
		if errors.As(err, &tooLong) {
			return err
		}
		return Invalid("the body did not arrive whole")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if len(data) == 0 {
		return mayBeEmpty(to)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return Invalid("the body cannot be read: %s", wire.Fault(err))
	}
	if c.r.Method == http.MethodPatch {
		return changesAll(data, to)
	}
	if _, is := to.(exact); is {
		return readExactly(data, to)
	}
	return nil
}

// exact is a body that does nothing by accident: it is an object in which each field is known
// and has a value. Exact says what to send for what it does without fields.
type exact interface{ Exact() string }

func mayBeEmpty(to any) error {
	if e, is := to.(exact); is {
		return Invalid("the body is empty: %s", e.Exact())
	}
	return nil
}

// readExactly refuses a body that is not exact.
func readExactly(data []byte, to any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return mayBeEmpty(to)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if string(fields[name]) == "null" {
			return state.About(name, fmt.Errorf("%w: %s is null: give it a value, or leave it out", state.ErrInvalid, name))
		}
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		return Invalid("the body has more than is known (%s)", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// changesAll refuses a patch that would change nothing, or not all that it names.
func changesAll(data []byte, to any) error {
	if bytes.Equal(bytes.Join(bytes.Fields(data), nil), []byte("{}")) {
		return Invalid("the body names nothing to change")
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		return Invalid("this cannot be changed (%s): make a new one with it", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// reply sends a JSON response.
func (c *call) reply(status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	return c.replyRaw(status, body)
}

// replyRaw sends encoded JSON.
func (c *call) replyRaw(status int, body []byte) error {
	c.boundAnswer()
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	c.w.Write(append(body, '\n')) // an error means that the client is gone
	return nil
}

// answer sends what a verb returned as a JSON response.
func (c *call) answer(value any, err error) error {
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, value)
}

// done responds without a body to a verb that returned err.
func (c *call) done(err error) error {
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// boundAnswer limits the time that the client takes to read the response.
func (c *call) boundAnswer() {
	// The ResponseWriter of a test may not support this; then there is no limit.
	http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(c.server.request))
}

// param is an unescaped part of the path. The router matches escaped paths.
func (c *call) param(name string) (string, error) {
	value, err := url.PathUnescape(mux.Vars(c.r)[name])
	if err != nil {
		return "", Invalid("the path is not well encoded")
	}
	return value, nil
}
