package server

import (
	"encoding/binary"

	"github.com/abidehub/abide/server/wire"
)

// message is a text frame as sent, in one piece, so that one write sends it and
// many clients can share it.
type message []byte

// headroom is the largest size of a frame's header in bytes (RFC 6455, 5.2). Frames
// of a server are not masked.
const headroom = 10

// seal makes a message from a payload that has headroom free bytes in front of it.
func seal(b []byte) message {
	var head [headroom]byte
	used := 2
	head[0] = 0x81 // a complete text message
	switch n := len(b) - headroom; {
	case n < 126:
		head[1] = byte(n)
	case n < 1<<16:
		head[1], used = 126, 4
		binary.BigEndian.PutUint16(head[2:], uint16(n))
	default:
		head[1], used = 127, 10
		binary.BigEndian.PutUint64(head[2:], uint64(n))
	}
	m := b[headroom-used:]
	copy(m, head[:used])
	return m
}

// encoded makes a message of a frame.
func encoded(m wire.Message) (message, error) {
	b, err := wire.Append(make([]byte, headroom, 512), m)
	if err != nil {
		return nil, err
	}
	return seal(b), nil
}

// messageOf makes a message from a copy of payload.
func messageOf(payload []byte) message {
	b := make([]byte, headroom, headroom+len(payload))
	return seal(append(b, payload...))
}
