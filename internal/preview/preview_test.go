package preview_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/preview"
)

// picture is one whose left half is red and whose right half is blue.
func picture(width, height int, alpha uint8) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{R: 255, A: alpha}
			if x >= width/2 {
				c = color.NRGBA{B: 255, A: alpha}
			}
			p.SetNRGBA(x, y, c)
		}
	}
	return p
}

func of(t *testing.T, data []byte) (image.Image, string, []byte) {
	small, kind, err := preview.Of(t.Context(), bytes.NewReader(data))
	require.NoError(t, err)
	p, _, err := image.Decode(bytes.NewReader(small))
	require.NoError(t, err)
	return p, kind, small
}

func TestAPreviewIsSmallAndShowsTheSame(t *testing.T) {
	t.Parallel()
	var asJPEG, asPNG, asGIF bytes.Buffer
	require.NoError(t, jpeg.Encode(&asJPEG, picture(1920, 1080, 255), nil))
	require.NoError(t, png.Encode(&asPNG, picture(600, 1000, 255)))
	require.NoError(t, gif.Encode(&asGIF, picture(1000, 1, 255), nil))
	for _, c := range []struct {
		data          []byte
		width, height int
	}{{asJPEG.Bytes(), 480, 270}, {asPNG.Bytes(), 288, 480}, {asGIF.Bytes(), 480, 1}} {
		p, kind, small := of(t, c.data)
		assert.Equal(t, image.Pt(c.width, c.height), p.Bounds().Size())
		assert.Equal(t, "image/jpeg", kind)
		assert.Less(t, len(small), 8<<10)
		r, _, b, _ := p.At(c.width/4, c.height/2).RGBA()
		assert.Greater(t, r, b, "left")
		r, _, b, _ = p.At(3*c.width/4, c.height/2).RGBA()
		assert.Greater(t, b, r, "right")
	}
}

func TestAPreviewCanBeSeenThroughWhereItsPictureCan(t *testing.T) {
	t.Parallel()
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, picture(1000, 1000, 40)))
	p, kind, _ := of(t, data.Bytes())
	assert.Equal(t, "image/png", kind)
	_, _, _, a := p.At(10, 10).RGBA()
	assert.InDelta(t, 40, a>>8, 1)
}

func TestAPreviewOfAPhotographIsTheSameWayUp(t *testing.T) {
	t.Parallel()
	var data bytes.Buffer
	require.NoError(t, jpeg.Encode(&data, picture(1000, 600, 255), nil))
	exif := append([]byte("Exif\x00\x00"), strings.Repeat("orientation", 10)...)
	segment := append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(2+len(exif))), exif...)
	turned := append(append([]byte{0xff, 0xd8}, segment...), data.Bytes()[2:]...)
	_, _, small := of(t, turned)
	assert.Equal(t, turned[:2+len(segment)], small[:2+len(segment)])
}

func TestAFileWithoutAPreviewIsErrNone(t *testing.T) {
	t.Parallel()
	var tiny, whole bytes.Buffer
	require.NoError(t, png.Encode(&tiny, picture(480, 480, 255)))
	require.NoError(t, png.Encode(&whole, picture(1000, 1000, 255)))
	// It claims 60,000 × 60,000 pixels in 33 bytes: 14 GB for a decoder that trusts
	// it.
	bomb := bytes.Clone(whole.Bytes())
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	for name, data := range map[string][]byte{
		"small itself": tiny.Bytes(), "empty": nil, "text": []byte("hello"), "bomb": bomb,
		"cut short": whole.Bytes()[:200], "JPEG of nothing": {0xff, 0xd8, 0xff}, "JPEG with a broken segment": {0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff, 0},
	} {
		_, _, err := preview.Of(t.Context(), bytes.NewReader(data))
		assert.ErrorIs(t, err, preview.ErrNone, name)
	}
}

// sizedPNG is a picture that claims a size. The decoder takes memory for it before it
// finds that the rest is missing.
func sizedPNG(t *testing.T, width, height uint32, depth, kind, interlace byte) []byte {
	t.Helper()
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, picture(500, 500, 40)))
	b := data.Bytes()
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	b[24], b[25], b[28] = depth, kind, interlace
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func sizedJPEG(t *testing.T, width, height uint16, progressive bool) []byte {
	t.Helper()
	var data bytes.Buffer
	require.NoError(t, jpeg.Encode(&data, picture(500, 500, 255), nil))
	b := data.Bytes()
	frame := bytes.Index(b, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(b[frame+5:], height)
	binary.BigEndian.PutUint16(b[frame+7:], width)
	if progressive {
		b[frame+1] = 0xc2
		scan := bytes.Index(b, []byte{0xff, 0xda})
		b[scan+12] = 0 // the last coefficient: the first scan has one
	}
	return b
}

func TestAPictureIsDecodedInBoundedMemory(t *testing.T) {
	for name, data := range map[string][]byte{
		"PNG":                       sizedPNG(t, 5000, 5000, 8, 6, 0),
		"PNG of a line":             sizedPNG(t, 8<<20, 1, 16, 6, 0),
		"PNG of 16 bits":            sizedPNG(t, 5600, 5600, 16, 6, 0),
		"PNG of 16 bits, smaller":   sizedPNG(t, 3500, 3500, 16, 6, 0),
		"interlaced PNG":            sizedPNG(t, 5600, 5600, 8, 6, 1),
		"JPEG":                      sizedJPEG(t, 4096, 3072, false),
		"large JPEG":                sizedJPEG(t, 8000, 8000, false),
		"JPEG of a line":            sizedJPEG(t, 65000, 1, false),
		"progressive JPEG":          sizedJPEG(t, 5600, 5600, true),
		"progressive JPEG, smaller": sizedJPEG(t, 2800, 2800, true),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := preview.Of(t.Context(), bytes.NewReader(data))
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, preview.ErrNone, name)
		assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20), name)
	}
}

func TestAPictureInBoundedMemoryHasAPreview(t *testing.T) {
	t.Parallel()
	deep := image.NewRGBA64(image.Rect(0, 0, 1000, 1000))
	var asPNG bytes.Buffer
	require.NoError(t, png.Encode(&asPNG, deep))
	of(t, asPNG.Bytes())
}

func TestAPreviewEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var data bytes.Buffer
	require.NoError(t, png.Encode(&data, picture(1000, 1000, 40)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := preview.Of(ctx, bytes.NewReader(data.Bytes()))
	require.ErrorIs(t, err, preview.ErrNone)
}

func FuzzPreview(f *testing.F) {
	var asJPEG, asPNG, asGIF bytes.Buffer
	require.NoError(f, jpeg.Encode(&asJPEG, picture(500, 4, 255), nil))
	require.NoError(f, png.Encode(&asPNG, picture(500, 4, 100)))
	require.NoError(f, gif.Encode(&asGIF, picture(500, 4, 255), nil))
	for _, seed := range [][]byte{asJPEG.Bytes(), asPNG.Bytes(), asGIF.Bytes()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, err := preview.Of(t.Context(), bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, preview.ErrNone)
		}
	})
}
