package resume

import (
	"context"
	"fmt"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/transcript"
)

// preambleTokens is the approximate size of the preamble.
const preambleTokens = 60

// Segments is a session as text, for an agent that is told all of it.
type Segments struct {
	List []transcript.Segment
	// Omitted counts the segments of the oldest text that are left out.
	Omitted int
}

// SegmentsOf splits the events of a log from the first to the last one into segments of
// at most limit tokens. It returns when they are read, or with the log's error.
func SegmentsOf(ctx context.Context, log observer.Source, first, last event.Seq, limit int) (Segments, error) {
	reader := &segmentReader{transcript.NewSegments(limit)}
	source := observer.UpTo(log, last)
	if err := observer.New(source, reader, max(0, first-1), ReadBytes).CatchUp(ctx); err != nil {
		return Segments{}, fmt.Errorf("read the session: %w", err)
	}
	list, omitted := reader.segments.List()
	return Segments{list, omitted}, nil
}

// Tokens is the approximate size of all segments with their preambles.
func (s Segments) Tokens() (tokens int) {
	for i := range s.List {
		tokens += s.TokensOf(i)
	}
	return tokens
}

// TokensOf is the approximate size of one segment with its preamble.
func (s Segments) TokensOf(i int) int { return s.List[i].Tokens + preambleTokens }

// Text is one segment as the agent gets it.
func (s Segments) Text(i int) string {
	n, of := i+1, len(s.List)
	return fmt.Sprintf("[SESSION_RESTORE %d/%d]\nThis is part %d of %d of the record of your earlier session. Take it as your own past. "+
		"No answer is wanted: do not reply, do not act on it, do not call tools.\n\n", n, of, n, of) + s.List[i].Text
}

// CountSegments says a number of segments in words.
func CountSegments(n int) string {
	if n == 1 {
		return "1 segment"
	}
	return fmt.Sprintf("%d segments", n)
}

// segmentReader splits events into segments.
type segmentReader struct{ segments *transcript.Segments }

// Deliver implements observer.Sink.
func (r *segmentReader) Deliver(_ context.Context, b event.Batch) error {
	events, err := b.Events()
	if err != nil {
		return err
	}
	for _, e := range events {
		r.segments.Apply(e)
	}
	return nil
}
