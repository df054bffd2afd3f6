package server

// frameCount counts the frames in a stream of a client's bytes, also those that
// make no message: the library reads on over them, an endless number of empty
// continuations too (RFC 6455, 5.2).
type frameCount struct {
	// pace waits until n frames more may have come; nil until the client runs.
	pace func(n int)

	head      []byte // of the head of the frame being read: at most 14 bytes
	skip      uint64 // bytes of the present frame that are still to come
	fragments int    // of the present message
}

// maxFragments bounds the frames of one message. Browsers send a message of the
// largest size in fewer than ten.
const maxFragments = 1000

// take counts the frames in the bytes read, and waits if there were too many. It
// reports whether the message that is being read may go on.
func (f *frameCount) take(p []byte) bool {
	frames := 0
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, uint64(len(p)))
			f.skip -= n
			p = p[n:]
			continue
		}
		f.head, p = append(f.head, p[0]), p[1:]
		if size, whole := frameSize(f.head); whole {
			frames++
			f.fragment(f.head[0])
			f.skip, f.head = size, f.head[:0]
		}
	}
	if frames > 0 && f.pace != nil {
		f.pace(frames)
	}
	return f.fragments <= maxFragments
}

// fragment counts a frame by its first byte; control frames may come between those
// of a message.
func (f *frameCount) fragment(first byte) {
	control, final := first&0x08 != 0, first&0x80 != 0
	switch {
	case control:
	case final:
		f.fragments = 0
	default:
		f.fragments++
	}
}

// frameSize reads the size of a frame's payload, if the head is whole.
func frameSize(head []byte) (size uint64, whole bool) {
	if len(head) < 2 {
		return 0, false
	}
	length, need := uint64(head[1]&0x7f), 2
	switch length {
	case 126:
		need += 2
	case 127:
		need += 8
	}
	extended := need
	if head[1]&0x80 != 0 {
		need += 4 // the mask
	}
	if len(head) < need {
		return 0, false
	}
	if extended > 2 {
		length = 0
		for _, b := range head[2:extended] {
			length = length<<8 | uint64(b)
		}
	}
	return length, true
}
