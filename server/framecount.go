package server

// frameCount counts the frames in a client's bytes, including those that complete
// no message: the library reads over them without a limit, also over empty
// continuations (RFC 6455, 5.2).
type frameCount struct {
	// pace waits until n more frames are allowed; nil until the client runs.
	pace func(n int)

	head      []byte // header bytes of the current frame: at most 14
	skip      uint64 // remaining bytes of the current frame
	fragments int    // of the current message
}

// maxFragments limits the frames of one message. Browsers send a message of the
// largest size in fewer than ten.
const maxFragments = 1000

// take counts the frames in the bytes read, and waits if there were too many. It
// reports whether the current message may continue.
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

// fragment counts a frame by its first byte. Control frames may come between those
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

// frameSize returns the size of a frame's payload, if the header is complete.
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
