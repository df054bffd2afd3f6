package record

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
)

// ended is a destination that stores the reason of the end.
type ended struct{ reason string }

func (*ended) Put(context.Context, [][]byte) error { return nil }

func (e *ended) End(_ context.Context, reason string) error {
	e.reason = reason
	return nil
}

func TestAFileOfWaitingEventsThatFailsStopsTheRecordingWithWords(t *testing.T) {
	for name, fail := range map[string]func(*os.File) error{
		"it cannot be read": (*os.File).Close,
		"it is cut":         func(f *os.File) error { return f.Truncate(3) },
	} {
		t.Run(name, func(t *testing.T) {
			waiting, err := newSpool(DefaultWaiting)
			require.NoError(t, err)
			defer waiting.file.Close()
			require.NoError(t, waiting.put([]byte(`{"type":"note","data":{}}`+"\n")))
			require.NoError(t, fail(waiting.file))
			waiting.finish()
			var stderr bytes.Buffer
			tape := &tape{spool: waiting, onlooker: acp.NewOnlooker("fake", actor), say: Options{Stderr: &stderr}.complain}
			var to ended
			tape.handOver(&to)
			require.Contains(t, stderr.String(), "the recording stops, the agent continues: read waiting events: ")
			require.Contains(t, to.reason, "the recording stopped early: read waiting events: ")
		})
	}
}
