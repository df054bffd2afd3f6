package machines

import (
	"context"
	"errors"
	"hash/crc32"
	"strconv"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
)

// sumOf names some bytes: a line of a log, or a state.
func sumOf(data []byte) string { return strconv.FormatUint(uint64(crc32.ChecksumIEEE(data)), 16) }

// lineSum names the line of a seq; empty if there is none.
func lineSum(ctx context.Context, log interface {
	ReadLines(ctx context.Context, after event.Seq, most int) (journal.Stretch, error)
}, seq event.Seq) (string, error) {
	line, err := log.ReadLines(ctx, seq-1, 1)
	if errors.Is(err, journal.ErrRemoved) || err == nil && len(line.Lines) == 0 {
		return "", nil
	}
	return sumOf(line.Lines), err
}
