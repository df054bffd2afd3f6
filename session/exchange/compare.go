package exchange

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store/logfile"
)

// compareBytes is how much of a log is read at once.
const compareBytes = 4 << 20

// In reports whether a log has the events of the export, each as it is there. Events
// that retention removed are not compared.
func (s *Source) In(ctx context.Context, log journal.Log) (bool, error) {
	there := eventReader{log: log, after: log.Marks().Min - 1}
	for e := s.Imported.First; ; {
		if e.Seq > there.after {
			kept, err := there.next(ctx)
			if err != nil {
				return false, err
			}
			if !sameStored(kept, e) && !sameStored(kept, s.raw) {
				return false, nil
			}
		}
		var err error
		if e, err = s.Imported.Next(); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
}

// sameStored reports whether two events are one as a log stores it.
func sameStored(a, b event.Event) bool {
	if a.Seq != b.Seq || a.Type != b.Type || a.Turn != b.Turn || !a.Time.Truncate(time.Microsecond).Equal(b.Time.Truncate(time.Microsecond)) {
		return false
	}
	var one, other bytes.Buffer
	if json.Compact(&one, a.Data) != nil || json.Compact(&other, b.Data) != nil {
		return bytes.Equal(a.Data, b.Data)
	}
	return bytes.Equal(bytes.ToValidUTF8(one.Bytes(), []byte("\uFFFD")), bytes.ToValidUTF8(other.Bytes(), []byte("\uFFFD")))
}

// CheckBlobs compares the large values of the export with their names.
func (s *Source) CheckBlobs() error {
	for s.Imported.NextBlob != nil {
		sha, data, err := s.Imported.NextBlob()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, data); err != nil {
			return fmt.Errorf("%w: blob %s: %w", state.ErrInvalid, sha, err)
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != sha {
			return fmt.Errorf("%w: the bytes of blob %s have the hash %s", state.ErrInvalid, sha, got)
		}
	}
	return nil
}

// eventReader returns the events of a log one by one.
type eventReader struct {
	log    journal.Log
	after  event.Seq
	events []event.Event
}

// next returns the event after the last one; the zero Event at the end.
func (r *eventReader) next(ctx context.Context) (event.Event, error) {
	if len(r.events) == 0 {
		batch, err := r.log.ReadAfter(ctx, r.after, compareBytes)
		if err == nil {
			r.events, err = batch.Events()
		}
		if err != nil {
			return event.Event{}, fmt.Errorf("compare with the log: %w", err)
		}
		if len(r.events) == 0 {
			return event.Event{}, nil
		}
	}
	e := r.events[0]
	r.events, r.after = r.events[1:], e.Seq
	return e, nil
}

// checkLine refuses a line whose checksum is wrong, and a time that cannot be counted in
// nanoseconds. A line needs no checksum.
func checkLine(line []byte, e event.Event) error {
	if year := e.Time.UTC().Year(); year < 1970 || year > 2261 {
		return fmt.Errorf("%w: the time of event %d is outside the years 1970 to 2261", state.ErrInvalid, e.Seq)
	}
	var sum struct {
		CRC *json.RawMessage `json:"crc"`
	}
	if json.Unmarshal(line, &sum) == nil && sum.CRC != nil && logfile.Parse(line).Quality != logfile.Verified {
		return fmt.Errorf("%w: the checksum of event %d is wrong: the file was changed", state.ErrInvalid, e.Seq)
	}
	return nil
}
