package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// reader is the cheapest client there can be: it finds where frames end and
// how far they go, and looks at their content only where times are wanted.
type reader struct {
	conn net.Conn
	in   *bufio.Reader
	// reached is the number of the last event that came whole.
	reached atomic.Int64
	bytes   atomic.Int64
	// delays has the time of each event, where they are wanted; owned by run.
	delays []time.Duration
	timed  bool
	failed atomic.Pointer[error]
}

// connect upgrades and subscribes; after is the cursor.
func connect(g greeting, after int64, timed bool) (*reader, error) {
	conn, err := net.Dial("tcp", g.Addr)
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), timed: timed}
	if err := r.begin(g, after); err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

func (r *reader) begin(g greeting, after int64) error {
	request := strings.Replace(g.Request, "AFTER", strconv.FormatInt(after, 10), 1)
	if _, err := io.WriteString(r.conn, request); err != nil {
		return err
	}
	for first := true; ; first = false {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return err
		}
		if first && !strings.Contains(line, " 101 ") {
			return fmt.Errorf("not upgraded: %s", line)
		}
		if line == "\r\n" {
			break
		}
	}
	for _, m := range g.Subscribe { // each is answered before the next
		if err := r.write(0x1, []byte(m)); err != nil {
			return err
		}
		n, _, err := r.header()
		if err != nil {
			return err
		}
		if _, err := r.in.Discard(n); err != nil {
			return err
		}
	}
	r.reached.Store(after)
	return nil
}

// write sends a frame of at most 64 KiB, masked with zeros.
func (r *reader) write(opcode byte, payload []byte) error {
	frame := []byte{0x80 | opcode, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		frame[1] = 0x80 | 126
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(payload)))
	}
	frame = append(frame, 0, 0, 0, 0)
	_, err := r.conn.Write(append(frame, payload...))
	return err
}

// header reads a frame's header.
func (r *reader) header() (length int, opcode byte, err error) {
	b, err := r.in.Peek(2)
	if err != nil {
		return 0, 0, err
	}
	opcode, length = b[0]&0xf, int(b[1])
	size := 2
	switch length {
	case 126:
		if b, err = r.in.Peek(4); err != nil {
			return 0, 0, err
		}
		length, size = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		if b, err = r.in.Peek(10); err != nil {
			return 0, 0, err
		}
		length, size = int(binary.BigEndian.Uint64(b[2:])), 10
	}
	_, err = r.in.Discard(size)
	return length, opcode, err
}

// run reads until the connection ends, or the reader has come to last.
func (r *reader) run(last int64) {
	if err := r.read(last); err != nil && !errors.Is(err, net.ErrClosed) {
		r.failed.Store(&err)
	}
}

// Of an events frame, head holds where it ends; of a frame of publications, the
// last bytes do.
const (
	head = 256
	foot = 64
)

func (r *reader) read(last int64) error {
	var whole []byte
	for r.reached.Load() < last {
		length, opcode, err := r.header()
		if err != nil {
			return err
		}
		r.bytes.Add(int64(length))
		switch {
		case opcode == 9:
			payload := make([]byte, length)
			if _, err := io.ReadFull(r.in, payload); err != nil {
				return err
			}
			if err := r.write(10, payload); err != nil {
				return err
			}
		case opcode == 8:
			return fmt.Errorf("the server closed the connection")
		case r.timed:
			if cap(whole) < length {
				whole = make([]byte, length)
			}
			if _, err := io.ReadFull(r.in, whole[:length]); err != nil {
				return err
			}
			r.note(whole[:length])
			r.reach(whole[:min(length, head)], whole[max(0, length-foot):length])
		default:
			if err := r.skim(length); err != nil {
				return err
			}
		}
	}
	return nil
}

// skim reads only the ends of a frame.
func (r *reader) skim(length int) error {
	b, err := r.in.Peek(min(length, head))
	if err != nil {
		return err
	}
	var ends [head + foot]byte
	n := copy(ends[:], b)
	skip := max(0, length-foot)
	if _, err := r.in.Discard(skip); err != nil {
		return err
	}
	m, err := io.ReadFull(r.in, ends[n:n+length-skip])
	if err != nil {
		return err
	}
	r.reach(ends[:n], ends[n:n+m])
	return nil
}

// reach takes from a frame how far it goes.
func (r *reader) reach(head, foot []byte) {
	if n, ok := numberAfter(head, `"last_seq":`, bytes.Index); ok && n > r.reached.Load() {
		r.reached.Store(n)
		return
	}
	if n, ok := numberAfter(foot, `"offset":`, bytes.LastIndex); ok {
		r.reached.Store(n)
	}
}

func numberAfter(b []byte, key string, find func(s, sep []byte) int) (int64, bool) {
	at := find(b, []byte(key))
	if at < 0 {
		return 0, false
	}
	var n int64
	digits := 0
	for _, c := range b[at+len(key):] {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
		digits++
	}
	return n, digits > 0
}

// note takes down how long each event of a frame was under way.
func (r *reader) note(frame []byte) {
	now := time.Now().UnixNano()
	for {
		sent, ok := numberAfter(frame, `"message_id":"`, bytes.Index)
		if !ok {
			return
		}
		if sent > 0 {
			r.delays = append(r.delays, time.Duration(now-sent))
		}
		frame = frame[bytes.Index(frame, []byte(`"message_id":"`))+14:]
	}
}
