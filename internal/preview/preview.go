// Package preview makes small pictures of large ones.
package preview

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // the formats that a browser shows
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

const (
	// Edge is the longest side of a preview, in pixels.
	Edge = 480
	// mostMemory bounds the memory in which one picture is decoded.
	mostMemory = 96 << 20
)

// ErrNone is a picture that has no preview: it is small itself, too large to be
// decoded, or none that this package knows.
var ErrNone = errors.New("no preview of this")

// Of reads a picture and returns a small one and its media type. Transparency is
// kept; of an animation it is the first picture. It reads no more once ctx has ended.
func Of(ctx context.Context, r io.ReadSeeker) (data []byte, mediaType string, err error) {
	head, format, err := image.DecodeConfig(r)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	width, height := head.Width, head.Height
	if width <= 0 || height <= 0 || width > mostMemory/height || max(width, height) <= Edge {
		return nil, "", ErrNone
	}
	need, err := memory(r, head, format)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	if need > mostMemory {
		return nil, "", ErrNone
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, "", err
	}
	var exif []byte
	if format == "jpeg" {
		if exif, err = exifOf(r); err != nil {
			return nil, "", err
		}
	}
	whole, _, err := image.Decode(until{ctx, r})
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrNone, err)
	}
	small := image.NewRGBA(fit(width, height))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), whole, whole.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if !small.Opaque() {
		err = png.Encode(&out, small)
		return out.Bytes(), "image/png", err
	}
	if err = jpeg.Encode(&out, small, &jpeg.Options{Quality: 80}); err != nil {
		return nil, "", err
	}
	return withExif(out.Bytes(), exif), "image/jpeg", nil
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// fit is the size of a preview: the longer side is Edge, the other at least 1.
func fit(width, height int) image.Rectangle {
	if width >= height {
		return image.Rect(0, 0, Edge, max(1, height*Edge/width))
	}
	return image.Rect(0, 0, max(1, width*Edge/height), Edge)
}

const (
	startOfImage = 0xd8
	startOfScan  = 0xda
	app1         = 0xe1
)

// exifOf returns the segment of a JPEG that says which side of it is up, nil
// where there is none, and leaves r at its beginning.
func exifOf(r io.ReadSeeker) (segment []byte, err error) {
	head := make([]byte, 128<<10) // a segment has at most 64 KiB, and it is among the first
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	for rest := head[2:max(n, 2)]; len(rest) >= 4 && rest[0] == 0xff && rest[1] != startOfScan; {
		size := 2 + int(binary.BigEndian.Uint16(rest[2:]))
		if size > len(rest) {
			break
		}
		if rest[1] == app1 && bytes.HasPrefix(rest[4:size], []byte("Exif\x00\x00")) {
			return rest[:size], nil
		}
		rest = rest[size:]
	}
	return nil, nil
}

// withExif puts the segment behind the first marker of a JPEG.
func withExif(picture, segment []byte) []byte {
	if len(segment) == 0 {
		return picture
	}
	start := []byte{0xff, startOfImage}
	return bytes.Join([][]byte{start, segment, bytes.TrimPrefix(picture, start)}, nil)
}
