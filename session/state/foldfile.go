package state

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/abidehub/abide/session/event"
)

// foldFormat is the version of the encoded fold. Raise it with any change of the
// fold's fields, or of how Apply reads an event: older files are then made again.
const foldFormat = 16

// foldFile is fold.json. It only saves reading a long log. A file that is missing,
// damaged or of another history is ignored.
type foldFile struct {
	Format int `json:"format"`
	// Epoch and Seq identify the last folded event.
	Epoch string    `json:"epoch"`
	Seq   event.Seq `json:"seq"`
	// CRC is the CRC-32C of Fold.
	CRC  string          `json:"crc"`
	Fold json.RawMessage `json:"fold"`
}

// MarshalText implements encoding.TextMarshaler.
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return fmt.Errorf("a digest of %d digits", len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Encode returns the fold of a log with this epoch as the content of its file.
func (f *Fold) Encode(epoch string) ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode fold: %w", err)
	}
	return json.Marshal(foldFile{Format: foldFormat, Epoch: epoch, Seq: f.Seq, CRC: foldCRC(data), Fold: data})
}

// Decode reads what Encode wrote, and returns the epoch of its log. A damaged file and
// one of another format are errors: fold the log again.
func Decode(data []byte) (f Fold, epoch string, err error) {
	var file foldFile
	if err := json.Unmarshal(data, &file); err != nil {
		return Fold{}, "", err
	}
	if file.Format != foldFormat || file.CRC != foldCRC(file.Fold) {
		return Fold{}, "", fmt.Errorf("fold is of format %d or damaged", file.Format)
	}
	if err := json.Unmarshal(file.Fold, &f); err != nil {
		return Fold{}, "", err
	}
	for i := range f.Permissions.Open {
		f.Permissions.Open[i].Asked = time.Now()
	}
	f.Seq = file.Seq
	return f, file.Epoch, nil
}

func foldCRC(data []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}
