package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// floor is about the least a server can do: events in memory, nothing on disk, no
// client waits for another. A writer for each processor goes round its clients and
// gives each the new events, up to 64 KiB at once, without ever blocking.
type floor struct {
	addr string

	mu      sync.RWMutex
	bytes   []byte // all events, joined by commas; never changed, only extended
	ends    []int  // where each ends in bytes
	bell    chan struct{}
	clients [][]*floorClient // by writer
	joined  int
}

// floorClient is owned by its writer.
type floorClient struct {
	raw    syscall.RawConn
	cursor int
	rest   [][]byte // of the frame being written
}

func newFloor(_ context.Context, _ string) (publisher, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &floor{addr: listener.Addr().String(), bell: make(chan struct{}), clients: make([][]*floorClient, runtime.GOMAXPROCS(0))}
	for i := range f.clients { // all for the life of the process
		go f.write(i)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			if err := f.join(conn.(*net.TCPConn)); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	return f, nil
}

func (f *floor) hello() greeting {
	return greeting{Addr: f.addr, Request: "GET /" + upgrade(f.addr) + "\r\n"}
}

func (f *floor) publish(_ context.Context, data []byte) error {
	f.mu.Lock()
	if len(f.ends) > 0 {
		f.bytes = append(f.bytes, ',')
	}
	f.bytes = append(f.bytes, envelope(int64(len(f.ends))+1, data)...)
	f.ends = append(f.ends, len(f.bytes))
	f.mu.Unlock()
	f.ring()
	return nil
}

func (f *floor) ring() {
	f.mu.Lock()
	bell := f.bell
	f.bell = make(chan struct{})
	f.mu.Unlock()
	close(bell)
}

func (f *floor) last() int64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return int64(len(f.ends))
}

// join upgrades a connection and gives it to a writer.
func (f *floor) join(conn *net.TCPConn) error {
	request := make([]byte, 4096)
	for read := 0; !strings.Contains(string(request[:read]), "\r\n\r\n"); {
		n, err := conn.Read(request[read:])
		if err != nil {
			return err
		}
		read += n
	}
	const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
	if _, err := conn.Write([]byte(switching)); err != nil {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	f.mu.Lock()
	at := f.joined % len(f.clients)
	f.joined++
	f.clients[at] = append(f.clients[at], &floorClient{raw: raw, cursor: len(f.ends)})
	f.mu.Unlock()
	f.ring()
	return nil
}

// write goes round the clients of one writer.
func (f *floor) write(writer int) {
	for {
		f.mu.RLock()
		all, ends, clients, bell := f.bytes, f.ends, f.clients[writer], f.bell
		f.mu.RUnlock()
		progress, behind := false, false
		for _, c := range clients {
			if len(c.rest) == 0 && c.cursor < len(ends) {
				c.load(all, ends)
			}
			if len(c.rest) > 0 {
				progress = c.push() || progress
				behind = behind || len(c.rest) > 0
			}
		}
		switch {
		case progress:
		case behind:
			time.Sleep(50 * time.Microsecond) // every socket is full
		default:
			<-bell
		}
	}
}

// load makes the next frame.
func (c *floorClient) load(all []byte, ends []int) {
	from := 0
	if c.cursor > 0 {
		from = ends[c.cursor-1] + 1
	}
	to := c.cursor + 1
	for to < len(ends) && ends[to]-from <= 64<<10 {
		to++
	}
	run := all[from:ends[to-1]]
	text := fmt.Sprintf(`{"type":"events","first_seq":%d,"last_seq":%d,"events":[`, c.cursor+1, to)
	head := []byte{0x81}
	switch n := len(text) + len(run) + 2; {
	case n < 126:
		head = append(head, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	c.rest = append(c.rest, append(head, text...), run, []byte("]}"))
	c.cursor = to
}

// push writes as much as the socket takes and reports whether that was anything.
func (c *floorClient) push() bool {
	var n int
	var err error
	if e := c.raw.Write(func(fd uintptr) bool {
		n, err = unix.Writev(int(fd), c.rest)
		return true // never wait
	}); e != nil {
		err = e
	}
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		c.rest, c.cursor = nil, 1<<62 // the client has left
		return true
	}
	wrote := n > 0
	for n > 0 {
		took := min(n, len(c.rest[0]))
		c.rest[0] = c.rest[0][took:]
		if n -= took; len(c.rest[0]) == 0 {
			c.rest = c.rest[1:]
		}
	}
	if len(c.rest) == 0 {
		c.rest = c.rest[:0]
	}
	return wrote
}
