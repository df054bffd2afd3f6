package cli

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALineTypedBeforeTheQuestionDoesNotAnswerIt(t *testing.T) {
	in, types := io.Pipe()
	p := New(Env{Stdin: in, Stderr: io.Discard})
	p.lines()
	_, err := io.WriteString(types, "1\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(p.typed) == 1 }, time.Minute, time.Millisecond)
	asked := time.Now()
	go func() { // ends when the pipe is closed below
		_, _ = io.WriteString(types, "2\n3\n")
		types.Close()
	}()
	line, err := p.ask(t.Context(), asked, "? ")
	require.NoError(t, err)
	require.Equal(t, "2", line)
	line, err = p.ask(t.Context(), asked, "? ")
	require.NoError(t, err)
	require.Equal(t, "3", line, "lines may come faster than they are asked for")
	_, err = p.ask(t.Context(), asked, "? ")
	require.ErrorIs(t, err, errNoLine)
}
