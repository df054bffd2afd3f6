package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/abidehub/abide/server/wire"
)

// JobEvents hands the events of a job to take, in order and each once: those so far, then each
// as it comes. It ends with take's error, with ctx's, or with a *RefusedError. A lost connection
// is made again and goes on after the last event. Of what lies more than 2,000 events of the
// session back it has the status and the checkpoints, with whole all of it.
func (h *Hub) JobEvents(ctx context.Context, id string, whole bool, take func(wire.JobEvent) error) error {
	s := jobStream{hub: h, path: jobPath(id) + "/events", take: take}
	if whole {
		s.path += "?full=true"
	}
	for {
		lost, err := s.read(ctx)
		if !lost {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(attemptPause):
		}
	}
}

// jobStream reads a stream of server-sent events.
type jobStream struct {
	hub  *Hub
	path string
	take func(wire.JobEvent) error
	last string // the id of the last event that was taken; empty for none
}

// read reads the stream on, until it breaks off (lost) or ends for good.
func (s *jobStream) read(ctx context.Context) (lost bool, err error) {
	place, err := s.hub.locate(ctx)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(place.Base, "/")+s.path, nil)
	if err != nil {
		return false, fmt.Errorf("make request for %s: %w", s.path, err)
	}
	req.Header = place.header()
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	res, err := s.hub.http.Do(req)
	if err != nil {
		return ctx.Err() == nil, errors.Join(ctx.Err(), err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		said, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		return false, errors.Join(refusal(res.StatusCode, said), err)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxAnswer)
	id := ""
	for lines.Scan() {
		if found, is := strings.CutPrefix(lines.Text(), "id: "); is {
			id = found
		}
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var e wire.JobEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return false, fmt.Errorf("read an event of a job: %w", err)
		}
		if err := s.take(e); err != nil {
			return false, err
		}
		s.last = id
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return false, fmt.Errorf("read an event of a job: %w", lines.Err())
	}
	return ctx.Err() == nil, ctx.Err()
}
