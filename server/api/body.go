package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/server/wire"
)

// maxBody limits a request's body to the largest prompt that a socket takes, with
// its envelope.
const maxBody = wire.MaxClientFrame + 64<<10

// read decodes a request's JSON body into to. An empty body leaves to unchanged. It
// refuses form content types, because browsers send those cross-origin without a
// preflight.
func (c *call) read(to any) error { return c.readUpTo(to, maxBody) }

// readUpTo is read with a limit of that many bytes.
func (c *call) readUpTo(to any, bound int64) error {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if c.r.ContentLength == 0 {
		return nil
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
		return nil
	}
	if err := json.Unmarshal(data, to); err != nil {
		return Invalid("the body cannot be read: %s", wire.Fault(err))
	}
	if c.r.Method == http.MethodPatch {
		return changesAll(data, to)
	}
	if _, is := to.(interface{ Exact() }); is {
		return exact(data, to)
	}
	return nil
}

// exact refuses a body with a field that is not known.
func exact(data []byte, to any) error {
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
