package preview

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"io"
)

// memory is how many bytes decoding a picture takes at most. It reads the header only.
// Color models do not say: a PNG may be interlaced, a JPEG may keep its coefficients.
func memory(r io.ReadSeeker, head image.Config, format string) (int, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	pixels := head.Width * head.Height
	switch format {
	case "jpeg":
		return memoryOfJPEG(r, head)
	case "png":
		return memoryOfPNG(r, head)
	case "gif":
		return 2 * pixels, nil // and once more where its lines are interlaced
	case "webp":
		// Blocks have 16 pixels a side.
		lossy := (head.Width + 15) / 16 * 16 * ((head.Height + 15) / 16 * 16) * 3 / 2
		if head.ColorModel == color.YCbCrModel {
			return 2 * lossy, nil
		}
		// A lossless picture, or lossless alpha: the pixels before and after a transform,
		// and the trees of codes, 256 bytes for each of the file and 2,600 of 52 KiB.
		return lossy + 9*pixels + int(min(256*size, 2600*52<<10)), nil
	}
	return 0, errors.New("a format of unknown memory")
}

// memoryOfPNG reads depth and interlace behind the size, which are the first chunk.
func memoryOfPNG(r io.Reader, head image.Config) (int, error) {
	var header [29]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, err
	}
	each := 4
	switch {
	case header[24] == 16:
		each = 8
	case header[25] == 3: // a palette
		each = 1
	}
	whole := head.Width * head.Height * each
	if header[28] != 0 {
		whole *= 2 // each of the passes is a picture, all of them as large as the whole
	}
	return whole + 2*head.Width*8, nil // two lines
}

// memoryOfJPEG reads how many samples a picture has, and whether it is progressive: its
// decoder then holds the coefficients of the whole picture.
func memoryOfJPEG(r io.Reader, head image.Config) (int, error) {
	frame, progressive, err := frameOf(bufio.NewReader(r))
	if err != nil {
		return 0, err
	}
	// precision, height (2), width (2), components, and for each its id, its blocks (one
	// nibble across, one down) and its table
	if len(frame) < 9 || len(frame) != 6+3*int(frame[5]) {
		return 0, errors.New("a frame of another length")
	}
	wide, high, blocks := int(frame[7]>>4), int(frame[7]&15), 0
	for i := 7; i < len(frame); i += 3 {
		blocks += int(frame[i]>>4) * int(frame[i]&15)
	}
	if frame[5] == 1 {
		wide, high, blocks = 1, 1, 1
	}
	if wide == 0 || high == 0 {
		return 0, errors.New("a frame without blocks")
	}
	units := ((head.Width + 8*wide - 1) / (8 * wide)) * ((head.Height + 8*high - 1) / (8 * high))
	need := units * blocks * 64
	if progressive {
		need += units * blocks * 64 * 4
	}
	if frame[5] > 1 { // as RGB or CMYK, which a later segment may ask for
		need += head.Width * head.Height * 4
	}
	return need, nil
}

// frameOf finds the frame header of a JPEG, as its decoder does.
func frameOf(r *bufio.Reader) (frame []byte, progressive bool, err error) {
	if _, err := r.Discard(2); err != nil {
		return nil, false, err
	}
	for {
		marker, err := markerOf(r)
		if err != nil {
			return nil, false, err
		}
		if marker >= 0xd0 && marker <= 0xd7 { // restarts have no content
			continue
		}
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return nil, false, err
		}
		n := int(binary.BigEndian.Uint16(length[:])) - 2
		if n < 0 || marker == startOfScan {
			return nil, false, errors.New("no frame")
		}
		if marker >= 0xc0 && marker <= 0xc2 {
			frame = make([]byte, n)
			_, err := io.ReadFull(r, frame)
			return frame, marker == 0xc2, err
		}
		if _, err := r.Discard(n); err != nil {
			return nil, false, err
		}
	}
}

// markerOf reads the next marker; fill bytes may precede it. Other bytes between
// segments, which decoders skip, are refused.
func markerOf(r *bufio.Reader) (byte, error) {
	b, err := r.ReadByte()
	if err == nil && b != 0xff {
		return 0, errors.New("no marker")
	}
	for err == nil && b == 0xff {
		b, err = r.ReadByte()
	}
	if err == nil && b == 0 {
		return 0, errors.New("no marker")
	}
	return b, err
}
