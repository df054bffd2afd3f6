// Package record stands between an ACP client and its agent: it passes every byte
// through and hands the traffic to a hub, as a session that all screens see live.
//
// Bytes are passed on as they come. A line is put into a file before it is passed on,
// and handed over from there in order; while the hub is away the file grows, up to a
// bound. Beyond it, or when the hub refuses, the recording stops and the agent goes on.
// The file of a recorder that is killed is handed over by the next one, or by the hub:
// see HandOver.
package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

const (
	// DefaultWaiting bounds the events that wait for a hub that is away, in bytes.
	DefaultWaiting = 64 << 20
	// batchBytes is how much is handed over at once.
	batchBytes = 512 << 10
	// heartbeat is how long a hub is left without a word; it waits 30 s for one.
	heartbeat = 8 * time.Second
	// retryMost is the longest pause before the hub is tried again.
	retryMost = 2 * time.Second
	// lastWords is how long the end of a recording waits for a hub that is away.
	lastWords = 20 * time.Second
	// stopBound is how long the command may take to end once it was told to.
	stopBound = 5 * time.Second
	// beginBound limits the time to begin the session; the agent's answer waits for it.
	// beginPause is the pause before the next attempt.
	beginBound = 10 * time.Second
	beginPause = 100 * time.Millisecond
	// mostName is how long the agent's name may be, in bytes, as the hub takes it.
	mostName = 100
	// stoppedEarly begins the reason of the end of a session that was not recorded to its
	// end. It goes on with at most mostWhy bytes: a hub takes 1000.
	stoppedEarly = "the recording stopped early: "
	mostWhy      = 500
	// actor is the actor of the client's side, in the log.
	actor = "editor"
)

// Destination takes the events of one session.
type Destination interface {
	// Put takes events in order, each a line of JSON with type and data; none are a
	// sign of life. It returns the seq that the next events follow. It is called again
	// with the same where it failed. A *FinalError says that this is of no use.
	Put(ctx context.Context, events [][]byte) (after event.Seq, err error)
	// End ends the session.
	End(ctx context.Context, reason string) error
}

// recordedOf decodes the lines of a batch.
func recordedOf[R any](events [][]byte) ([]R, error) {
	batch := make([]R, len(events))
	for i, line := range events {
		if err := json.Unmarshal(line, &batch[i]); err != nil {
			return nil, &FinalError{fmt.Errorf("read an event that waited: %w", err)}
		}
	}
	return batch, nil
}

// FinalError says that a destination takes nothing more.
type FinalError struct{ Err error }

// Error implements error.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FinalError) Unwrap() error { return e.Err }

// Options are the options of a recording.
type Options struct {
	// Command is the agent's command and its arguments.
	Command []string
	// Agent is the agent's name in the session; if it is empty, what the agent says of
	// itself, else the name of its command.
	Agent          string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Begin begins the session of an agent of this name, and returns the first line of
	// its file of waiting events. It is called once the agent has begun a session, and
	// again, for at most 10 seconds, after an error that is not a FinalError.
	Begin func(ctx context.Context, agent string) (Destination, Left, error)
	// Dir is the directory of the file of waiting events: see Dir.
	Dir string
	// Waiting bounds the bytes that wait; 0 is DefaultWaiting.
	Waiting int64
}

// The exit codes of a command that is not a program, and that is not installed, as in a shell.
const (
	notRunnable = 126
	notThere    = 127
)

// Run runs the command until it ends, and returns its exit code. It records as much
// as it can; why it cannot is said on Stderr and never stops the command. When ctx
// ends, the command is told to end.
func Run(ctx context.Context, o Options) (code int, err error) {
	if o.Waiting == 0 {
		o.Waiting = DefaultWaiting
	}
	name := cmp.Or(o.Agent, filepath.Base(o.Command[0]))
	t := &tape{onlooker: acp.NewOnlooker(name, actor), say: o.complain}
	var group sync.WaitGroup
	t.begin = func(said string) error {
		if o.Agent == "" && said != "" && len(said) <= mostName && state.Printable(said) {
			name = said
		}
		return t.beginAs(ctx, o, name, &group)
	}
	t.most = o.Waiting
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopBound
	cmd.Stdout = &tee{to: o.Stdout, take: t.fromAgent}
	cmd.Stderr = o.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			o.complain("%s: there is no such command", o.Command[0])
			return notThere, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			o.complain("%s: it cannot be started: permission denied", o.Command[0])
			return notRunnable, nil
		}
		return 0, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	go func() { // ends with the process at the latest: a read of stdin cannot be given up
		_, _ = io.Copy(&tee{to: stdin, take: t.fromClient}, o.Stdin) // the agent's end shows in Wait
		stdin.Close()
	}()
	_ = cmd.Wait() // the state says more
	t.finish(exitOf(cmd))
	group.Wait()
	if t.spool != nil {
		t.spool.file.Close()
	}
	return exitCode(cmd), nil
}

// beginAs begins the session, and hands its events over from then on.
func (t *tape) beginAs(ctx context.Context, o Options, name string, group *sync.WaitGroup) error {
	ctx, cancel := context.WithTimeout(ctx, beginBound)
	defer cancel()
	to, left, err := beginAgain(ctx, o.Begin, name)
	if err != nil {
		return err
	}
	t.name = name
	if t.spool, err = newSpool(o.Dir, left, o.Waiting); err != nil {
		return errors.Join(err, to.End(ctx, stoppedEarly+"no file for waiting events"))
	}
	group.Go(func() { t.handOver(to) })
	return nil
}

// beginAgain begins the session, and tries again while the hub is away, as in a restart.
func beginAgain(ctx context.Context, begin func(context.Context, string) (Destination, Left, error), name string) (Destination, Left, error) {
	for {
		to, left, err := begin(ctx, name)
		var final *FinalError
		if err == nil || errors.As(err, &final) {
			return to, left, err
		}
		select {
		case <-ctx.Done():
			return nil, Left{}, err
		case <-time.After(beginPause):
		}
	}
}

func (o Options) complain(format string, args ...any) {
	fmt.Fprintf(o.Stderr, "abide record: "+format+"\n", args...)
}

func exitOf(cmd *exec.Cmd) event.AgentExit {
	exit := event.AgentExit{Reason: "exited"}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal().String()
		return exit
	}
	code := cmd.ProcessState.ExitCode()
	exit.Code = &code
	return exit
}

// exitCode is the command's, as a shell has it.
func exitCode(cmd *exec.Cmd) int {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// tee passes bytes on, after it has shown them.
type tee struct {
	to   io.Writer
	take func([]byte)
}

func (t *tee) Write(p []byte) (int, error) {
	t.take(p)
	return t.to.Write(p)
}

// tape makes events of both directions and puts them where they wait.
type tape struct {
	// set at construction
	say func(format string, args ...any)
	// begin begins the session of an agent that says this name of itself.
	begin func(said string) error
	most  int64 // bytes of early

	mu       sync.Mutex
	onlooker *acp.Onlooker
	spool    *spool // nil until the agent begins a session, and set once
	name     string // the agent's in the session
	early    []byte // events until then
	client   []byte // the beginning of a line
	agent    []byte
	stopped  bool
	reason   string // why the session ends
}

func (t *tape) fromClient(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client = t.lines(t.client, p, t.onlooker.FromClient)
}

func (t *tape) fromAgent(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agent = t.lines(t.agent, p, t.onlooker.FromAgent)
}

// longestLine is that of the hub's own agents.
const longestLine = 32 << 20

// lines takes the whole lines of the bytes read, and returns the beginning of the
// next.
func (t *tape) lines(begun, read []byte, take func([]byte) []event.Payload) []byte {
	for {
		line, after, whole := bytes.Cut(read, []byte("\n"))
		if t.stopped {
			return nil
		}
		if len(begun)+len(line) > longestLine {
			t.stop("a line is longer than %d MiB", longestLine>>20)
			return nil
		}
		begun = append(begun, line...)
		if !whole {
			return begun
		}
		t.put(take(bytes.TrimSuffix(begun, []byte("\r"))))
		begun, read = nil, after
	}
}

// put puts events where they wait. The caller holds mu.
func (t *tape) put(payloads []event.Payload) {
	var lines []byte
	for _, p := range payloads {
		if started, is := p.(event.AgentStarted); is && !t.stopped {
			if t.spool == nil {
				if err := t.begin(started.Name); err != nil {
					t.stop("%v", err)
					return
				}
			}
			started.Agent = t.name
			p = started
		}
		draft, err := event.NewDraft(p, 0, time.Time{})
		if err != nil {
			t.say("an event of type %s was left out: %v", p.EventType(), err)
			continue
		}
		var line bytes.Buffer
		encoder := json.NewEncoder(&line)
		encoder.SetEscapeHTML(false) // the bytes of the wire stay
		if err := encoder.Encode(struct {
			Type event.Type      `json:"type"`
			Data json.RawMessage `json:"data"`
		}{draft.Type, draft.Data}); err != nil {
			t.say("an event of type %s was left out: %v", p.EventType(), err)
			continue
		}
		lines = append(lines, line.Bytes()...)
	}
	lines = append(t.early, lines...)
	t.early = nil
	switch {
	case len(lines) == 0 || t.stopped:
	case t.spool == nil && int64(len(lines)) > t.most:
		t.stop("the agent says too much and begins no session")
	case t.spool == nil:
		t.early = lines
	default:
		if err := t.spool.put(lines); err != nil {
			t.stop("%v", err)
		}
	}
}

// stop ends the recording, never the agent. The caller holds mu.
func (t *tape) stop(format string, args ...any) {
	if !t.stopped {
		why := fmt.Sprintf(format, args...)
		t.stopped, t.reason = true, stoppedEarly+strings.ToValidUTF8(why[:min(len(why), mostWhy)], "")
		t.say("the recording stops, the agent continues: %s", why)
	}
}

// finish tells the end of the agent.
func (t *tape) finish(exit event.AgentExit) {
	t.mu.Lock()
	if !t.stopped {
		t.reason = "the agent ended"
	}
	t.put(append(t.onlooker.End(), exit))
	reason, spool := t.reason, t.spool
	t.mu.Unlock()
	if spool != nil {
		spool.finish(reason)
	}
}

// errAway says that the hub was away for too long after the end.
var errAway = errors.New("the hub is away")

// handOver hands events over until the last was, and ends the session.
func (t *tape) handOver(to Destination) {
	var final *FinalError
	switch err := t.handAll(to); {
	case errors.Is(err, errAway):
		t.say("%v", err)
		return
	case errors.As(err, &final) && !errors.Is(err, ErrElsewhere) && t.spool.waiting() > 0:
		t.giveUp("%v", err)
		if err := t.spool.refuse(err, t.say); err != nil {
			t.say("%v", err)
		}
		_ = t.end(to) // the hub ends it otherwise
		return
	case err != nil:
		t.giveUp("%v", err)
	}
	if t.end(to) == nil {
		_ = t.spool.remove() // otherwise the next recorder ends the session once more
	}
}

// end ends the session.
func (t *tape) end(to Destination) error {
	t.mu.Lock()
	reason, stopped := t.reason, t.stopped
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	err := to.End(ctx, reason)
	if err != nil && !stopped { // the cause of a stop was said
		t.say("the session stays open until the hub closes it: %v", err)
	}
	return err
}

// handAll hands events over until there are none and will be none. An error says why
// the rest cannot be.
func (t *tape) handAll(to Destination) error {
	deadline := time.Time{} // once nothing more comes
	for pause := time.Duration(0); ; {
		lines, size, done, err := t.spool.next(batchBytes)
		if done || err != nil {
			return err
		}
		if len(lines) == 0 {
			select {
			case <-t.spool.news.C():
				continue
			case <-time.After(heartbeat):
			}
		}
		after, err := to.Put(context.Background(), lines)
		var final *FinalError
		switch {
		case err == nil:
			if err := t.spool.handed(size, after); err != nil {
				return err
			}
			pause = 0
			continue
		case errors.As(err, &final):
			return final
		}
		if over := t.over(); over && deadline.IsZero() {
			deadline = time.Now().Add(lastWords)
		} else if over && time.Now().After(deadline) {
			return fmt.Errorf("%w, %d bytes of events wait in %s for the next recorder or the hub: %w", errAway, t.spool.waiting(), t.spool.path, err)
		}
		pause = min(max(2*pause, 50*time.Millisecond), retryMost)
		time.Sleep(pause)
	}
}

func (t *tape) giveUp(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop(format, args...)
}

// over reports whether nothing more comes.
func (t *tape) over() bool {
	t.spool.mu.Lock()
	defer t.spool.mu.Unlock()
	return t.spool.over
}
