package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/abidehub/abide/session/state"
)

// The names of a session's snapshot, among the files that are made from its log. There is
// one of them, never both.
const (
	plainName  = "snapshot.json"
	packedName = "snapshot.json.gz"
)

// packedFrom is from how many bytes on a snapshot is compressed.
const packedFrom = 10 << 10

// readBytes bounds a file that is read, in bytes before compression. A Fold is smaller.
const readBytes = 64 << 20

// file is a snapshot as it is stored.
type file struct {
	name string
	data []byte
	// bytes is its size before compression.
	bytes int
}

// encode returns the file of a fold. If compression fails, it is stored plain, and failed
// says why.
func encode(f *Fold) (out file, failed error, err error) {
	f.Settled()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return file{}, nil, fmt.Errorf("encode a snapshot: %w", err)
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte("}\n"))
	data := fmt.Appendf(body, ",\"crc\":\"%08x\"}\n", checksum(body))
	if len(data) <= packedFrom {
		return file{plainName, data, len(data)}, nil, nil
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is a valid one
	if _, err := w.Write(data); err != nil {
		return file{plainName, data, len(data)}, err, nil
	}
	if err := w.Close(); err != nil {
		return file{plainName, data, len(data)}, err, nil
	}
	return file{packedName, packed.Bytes(), len(data)}, nil, nil
}

// decode reads what encode wrote for the log with this epoch. It reports false for anything
// else, such as a snapshot of another version: it is made again.
func decode(name string, data []byte, epoch string) (*Fold, int, bool) {
	if name == packedName {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, 0, false
		}
		if data, err = io.ReadAll(io.LimitReader(r, readBytes)); err != nil {
			return nil, 0, false
		}
	}
	const tail = len(`,"crc":"00000000"}` + "\n")
	if len(data) < tail {
		return nil, 0, false
	}
	body, crc := data[:len(data)-tail], data[len(data)-tail:]
	if string(crc) != fmt.Sprintf(",\"crc\":\"%08x\"}\n", checksum(body)) {
		return nil, 0, false
	}
	f := NewFold(epoch)
	if json.Unmarshal(data, f) != nil || f.Version != state.SnapshotVersion || f.Work.Format != workFormat || f.Epoch != epoch || f.Work.Used == nil {
		return nil, 0, false
	}
	return f, len(data), true
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }
