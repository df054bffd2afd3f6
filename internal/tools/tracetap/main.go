// Command tracetap stands between a client and an ACP agent, passes every byte, and
// writes what they say as a trace for the replay tests of session/acp. A path of this
// machine that should not be in a trace is replaced by --as.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

func main() {
	out := flag.String("o", "", "write the trace to `FILE`")
	as := flag.String("as", "/home/dev/project", "the `PATH` that stands for the working directory in the trace")
	flag.Parse()
	code, err := run(*out, *as, flag.Args(), os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracetap:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run runs the agent until it ends, and returns its exit code.
func run(out, as string, command []string, stdin io.Reader, stdout io.Writer) (code int, err error) {
	if out == "" || len(command) == 0 {
		return 0, errors.New("use: tracetap -o FILE COMMAND [ARG...]")
	}
	here, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	file, err := os.Create(out)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	t := &trace{file: file, begun: time.Now(), here: []byte(here), as: []byte(as)}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout = io.MultiWriter(&side{trace: t, dir: "a>c"}, stdout)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { // ends with the process at the latest: a read of stdin cannot be given up
		_, _ = io.Copy(io.MultiWriter(&side{trace: t, dir: "c>a"}, in), stdin)
		in.Close()
	}()
	_ = cmd.Wait() // the state says more
	return max(0, cmd.ProcessState.ExitCode()), nil
}

// trace is the file that both sides write to.
type trace struct {
	mu       sync.Mutex
	file     io.Writer
	begun    time.Time
	here, as []byte
}

// side writes one direction's messages, each as a line with its time in milliseconds.
type side struct {
	trace *trace
	dir   string
	rest  []byte
}

// Write implements io.Writer.
func (s *side) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.rest = rest
		if !json.Valid(line) {
			continue // a trace has messages only
		}
		if err := s.trace.write(s.dir, line); err != nil {
			return 0, err
		}
	}
}

func (t *trace) write(dir string, message []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := json.NewEncoder(t.file)
	to.SetEscapeHTML(false)
	return to.Encode(struct {
		T   int64           `json:"t"`
		Dir string          `json:"dir"`
		Msg json.RawMessage `json:"msg"`
	}{time.Since(t.begun).Milliseconds(), dir, bytes.ReplaceAll(message, t.here, t.as)})
}
