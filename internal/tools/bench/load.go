package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// longLog is how many events the session of the role "long" has.
const longLog = 1_000_000

func newLongHub(ctx context.Context, dir string) (publisher, error) {
	p, err := newHub(ctx, dir)
	if err != nil {
		return nil, err
	}
	h := p.(*hub)
	return h, fill(ctx, h.log, longLog)
}

// ask sends a message and reads until the answer of that type has come.
func (r *reader) ask(message, answer string) (time.Duration, error) {
	began := time.Now()
	if err := r.write(0x1, []byte(message)); err != nil {
		return 0, err
	}
	for {
		length, opcode, err := r.header()
		if err != nil {
			return 0, err
		}
		whole := make([]byte, length)
		if _, err := io.ReadFull(r.in, whole); err != nil {
			return 0, err
		}
		if opcode == 8 {
			return 0, fmt.Errorf("the server closed the connection: %q", whole)
		}
		if bytes.HasPrefix(whole, []byte(`{"type":"`+answer+`"`)) {
			return time.Since(began), nil
		}
		if bytes.HasPrefix(whole, []byte(`{"type":"error"`)) {
			return 0, fmt.Errorf("the server answered %s", whole)
		}
	}
}

// measureLoad asks for the newest page of a long log over a socket, and for a pong
// in turns: the difference is the page's.
func measureLoad(ctx context.Context, b *bench) (err error) {
	server, err := b.serve(ctx, "long")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	r, err := connect(server.greeting, server.Last, false)
	if err != nil {
		return err
	}
	defer r.conn.Close()
	load := fmt.Sprintf(`{"type":"load_events","request_id":"r","session_id":%q,"epoch":%q,"before_seq":%d,"limit":50}`,
		server.Session, server.Epoch, server.Last+1)
	var pages, pongs []time.Duration
	for range 100 * b.rounds() {
		page, err := r.ask(load, "events_loaded")
		if err != nil {
			return err
		}
		pong, err := r.ask(`{"type":"ping","nonce":"n"}`, "pong")
		if err != nil {
			return err
		}
		pages, pongs = append(pages, page), append(pongs, pong)
	}
	b.within("the last 50 of 1,000,000 events by load_events, less a ping", 80*time.Microsecond, max(0, median(pages)-median(pongs)))
	b.detail("load_events %s, ping %s", median(pages), median(pongs))
	return nil
}
