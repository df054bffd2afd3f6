package logfile_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store/logfile"
)

// FuzzLine decodes arbitrary lines.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"seq":2,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x"}}`))
	f.Add([]byte(`{"seq":2,"time":"2026-02-21T14:03:07.123456Z","type":"note","data":{"method":"x"},"crc":"00000000"}`))
	f.Add([]byte(` { "data" : {}, "type":"x", "seq": 9, "time":"2026-02-21T14:03:07Z", "extra": [1] } ` + "\r"))
	f.Add([]byte("{\"seq\":5,\"ti\x00{\"seq\":6,"))
	f.Fuzz(func(t *testing.T, line []byte) {
		read := logfile.Parse(line)
		if read.Quality == logfile.Bad {
			return
		}
		object := append(bytes.Clone(read.Body), '}')
		// A served line must be an event, whatever bytes are on disk.
		events, err := event.Batch{Count: 1, JSON: object}.Events()
		require.NoError(t, err, "%q", object)
		require.Equal(t, read.Seq, events[0].Seq)
		require.Positive(t, read.Seq)
		require.NotContains(t, string(object), "\n")
	})
}
