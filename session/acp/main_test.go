package acp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/abidehub/abide/internal/demoagent"
)

// roleName is the environment variable that makes the test binary run as an agent
// or another helper process.
const roleName = "ACP_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleName); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// wired returns stdin and stdout. It records the traffic in the directory
// ACP_TEST_WIRE, or as a trace in the file ACP_TEST_RECORD, if set.
func wired() (io.Reader, io.Writer) {
	if file := os.Getenv("ACP_TEST_RECORD"); file != "" {
		return recorded(file)
	}
	dir := os.Getenv("ACP_TEST_WIRE")
	if dir == "" {
		return os.Stdin, os.Stdout
	}
	keep := func(name string) io.Writer {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		return file
	}
	return io.TeeReader(os.Stdin, keep("client")), io.MultiWriter(keep("agent"), os.Stdout)
}

// withoutResume removes the resume capability from the agent's output.
type withoutResume struct{ io.Writer }

func (w withoutResume) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(bytes.Replace(p, []byte(`,"resume":{}`), nil, 1)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// play runs the test binary with the role.
func play(role string) int {
	if role == "demo" || role == "demo-login" {
		in, out := wired()
		if os.Getenv("ACP_TEST_NO_RESUME") != "" {
			out = withoutResume{out}
		}
		if err := demoagent.Run(context.Background(), in, out, demoagent.Options{StateDir: os.Getenv("ACP_TEST_STATE"), Login: role == "demo-login"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	run, ok := roles()[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 2
	}
	return run(newFake())
}
