package store_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

func byHand(seq event.Seq) []byte {
	return fmt.Appendf(nil, `{"seq":%d,"time":"2026-02-21T14:03:07.000000Z","type":"note","data":{"method":"mine"}}`+"\n", seq)
}

// TestALineWrittenByHandMakesNoLogWithoutEnd inserts a line without a checksum
// whose seq is higher than events could have been written.
func TestALineWrittenByHandMakesNoLogWithoutEnd(t *testing.T) {
	for name, test := range map[string]struct {
		seq  event.Seq
		at   int // before this one of twenty lines
		kind string
	}{
		"at the end":               {9_000_000_000_000_000, 20, store.ProblemTorn},
		"at the end, a step":       {22, 20, store.ProblemTorn},
		"within the log, far away": {100_000, 11, store.ProblemDamaged},
	} {
		for _, meta := range []bool{true, false} {
			t.Run(fmt.Sprint(name, meta), func(t *testing.T) {
				d := recorded(t, 20)
				before := d.open(store.Options{})
				events := readAll(t, before.log)
				epoch := before.log.Epoch()
				before.close()
				lines := d.lines()
				d.setLines(append(append(lines[:test.at:test.at], byHand(test.seq)), lines[test.at:]...))
				if !meta {
					d.withoutMetadata()
				}
				r, err := store.Check(context.Background(), d.root, d.id)
				require.NoError(t, err)
				require.Contains(t, kinds(t, d), test.kind)
				require.EqualValues(t, 20, r.Events)

				o := d.open(store.Options{TailBytes: 1})
				require.Less(t, o.log.Marks().Visible, event.Seq(30))
				now := readAll(t, o.log)
				require.Equal(t, events, now[:20])
				requireGapless(t, now)
				require.Zero(t, o.log.Health().Holes)
				require.Equal(t, test.at == 20, o.log.Epoch() != epoch, "only truncated whole lines change the epoch")
				if test.at == 20 {
					require.Equal(t, [][]byte{byHand(test.seq)}, d.quarantined()[:1])
				}
				requireAppends(t, o.log)
				o.close()
			})
		}
	}
}

// TestALineOfTheLastSeqThereIsEndsNoLog appends a line with a right checksum and a
// seq near the maximum, which leaves few or no seqs.
func TestALineOfTheLastSeqThereIsEndsNoLog(t *testing.T) {
	for _, far := range []event.Seq{1<<53 - 1, 1<<53 - 100, 1<<48 + 1} {
		for _, meta := range []bool{true, false} {
			t.Run(fmt.Sprint(far, meta), func(t *testing.T) {
				d := recorded(t, 20)
				lines := d.lines()
				d.setLines(append(lines[:20:20], withCRC(byHand(far))))
				if !meta {
					d.withoutMetadata()
				}
				require.Contains(t, kinds(t, d), store.ProblemTorn)
				for range 2 {
					o := d.open(store.Options{})
					require.Less(t, o.log.Marks().Visible, event.Seq(40))
					requireGapless(t, readAll(t, o.log))
					requireAppends(t, o.log)
					o.close()
				}
				require.Len(t, d.quarantined(), 1, "the line was quarantined more than once")
				require.Empty(t, kinds(t, d))
			})
		}
	}
}

// withCRC appends the right checksum to a line's body.
func withCRC(line []byte) []byte {
	body := bytes.TrimSuffix(line, []byte("}\n"))
	return fmt.Appendf(nil, `%s,"crc":"%08x"}`+"\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}
