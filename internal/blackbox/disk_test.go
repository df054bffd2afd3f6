package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// onDisk reads a session's log as docs/storage.md describes it. Every line must be
// whole with a correct checksum, and the seqs must have no gap.
func onDisk(t *testing.T, h *hub, id string) []event.Event {
	t.Helper()
	dir := filepath.Join(h.data, "sessions", id)
	sealed, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	require.NoError(t, err)
	slices.SortFunc(sealed, func(a, b string) int { return firstSeq(t, a) - firstSeq(t, b) })
	var events []event.Event
	for _, path := range append(sealed, filepath.Join(dir, "events.jsonl")) {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for len(data) > 0 {
			line, rest, whole := bytes.Cut(data, []byte("\n"))
			e, err := parseLine(line)
			require.True(t, whole, "%s ends in %q", path, line)
			require.NoError(t, err, path)
			require.Equal(t, event.Seq(len(events)+1), e.Seq, "gap in %s", path)
			events, data = append(events, e), rest
		}
	}
	return events
}

func firstSeq(t *testing.T, path string) (first int) {
	var last int
	_, err := fmt.Sscanf(filepath.Base(path), "events-%d-%d.jsonl", &first, &last)
	require.NoError(t, err)
	return first
}

// parseLine checks a line's CRC-32C and decodes it.
func parseLine(line []byte) (event.Event, error) {
	var e event.Event
	at := bytes.LastIndex(line, []byte(`,"crc":"`))
	if at < 0 {
		return e, fmt.Errorf("no checksum in %.200q", line)
	}
	sum := crc32.Checksum(line[:at], crc32.MakeTable(crc32.Castagnoli))
	if want := fmt.Sprintf(`,"crc":"%08x"}`, sum); string(line[at:]) != want {
		return e, fmt.Errorf("checksum is %s, not %s", line[at:], want)
	}
	err := json.Unmarshal(line, &e)
	return e, err
}

// requireSame requires the same events with the same content.
func requireSame(t *testing.T, want, got []event.Event, who string) {
	t.Helper()
	require.Len(t, got, len(want), "%s", who)
	requirePrefix(t, want, got, who)
}

// requirePrefix requires that the log begins with the events of a client.
func requirePrefix(t *testing.T, log, seen []event.Event, who string) {
	t.Helper()
	require.LessOrEqual(t, len(seen), len(log), "%s saw more than there is: the log ends at %d", who, len(log))
	for i, e := range seen {
		require.NoError(t, sameEvent(log[i], e), "%s", who)
	}
}

func sameEvent(a, b event.Event) error {
	if a.Seq != b.Seq || a.Type != b.Type || a.Turn != b.Turn || !a.Time.Equal(b.Time) || !bytes.Equal(a.Data, b.Data) {
		return fmt.Errorf("event %d %s %.300s\nis not %d %s %.300s", a.Seq, a.Type, a.Data, b.Seq, b.Type, b.Data)
	}
	return nil
}

// payloads decodes all events of one type.
func payloads[P event.Payload](t *testing.T, events []event.Event) []P {
	t.Helper()
	var zero P
	var out []P
	for _, e := range events {
		if e.Type != zero.EventType() {
			continue
		}
		p, err := e.Payload()
		require.NoError(t, err)
		out = append(out, p.(P))
	}
	return out
}
