package preview_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
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
	small, kind, err := preview.Of(bytes.NewReader(data))
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

func TestWhatHasNoPreviewIsSaidToHaveNone(t *testing.T) {
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
		_, _, err := preview.Of(bytes.NewReader(data))
		assert.ErrorIs(t, err, preview.ErrNone, name)
	}
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
		_, _, err := preview.Of(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, preview.ErrNone)
		}
	})
}
