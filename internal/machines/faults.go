package machines

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/abidehub/abide/session/state"
)

const (
	// mostRefused is how many messages that break the protocol end a machine's connection.
	mostRefused = 3
	// cutFor is how long a machine is not let in after that.
	cutFor = time.Minute
	// clockSlack is how far a machine's clock may be off without a word.
	clockSlack = time.Minute
	// mostWords limits what the other side says for a person, in characters.
	mostWords = 200
)

// fault is what a machine did wrong since home started.
type fault struct {
	count   int    // of messages that broke the protocol
	why     string // what the last one was
	until   time.Time
	version string // why home did not talk to it
	clock   time.Duration
}

// faults are those of all machines.
type faults struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]fault
}

// refuse counts a message that broke the protocol. Each third ends the connection, and the
// machine is not let in for a minute.
func (f *faults) refuse(machine, why string) (count int, cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[machine]
	one.count++
	one.why = why
	if cut = one.count%mostRefused == 0; cut {
		one.until = f.now().Add(cutFor)
	}
	f.of[machine] = one
	return one.count, cut
}

// met notes how a machine's clock differs, and why home does not talk to it.
func (f *faults) met(machine, version string, clock time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[machine]
	one.version, one.clock = version, clock
	f.of[machine] = one
}

func (f *faults) forget(machine string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, machine)
}

func (f *faults) count(machine string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[machine].count
}

// barred is why a machine is not let in.
func (f *faults) barred(machine string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.of[machine]; f.now().Before(one.until) {
		return fmt.Errorf("%w: this machine sent what it may not %d times, the last time %s: it may try again in a minute", state.ErrConflict, one.count, one.why)
	}
	return nil
}

// problem says what is wrong with a machine.
func (f *faults) problem(machine string, connected bool, twice int, full bool) string {
	f.mu.Lock()
	one := f.of[machine]
	f.mu.Unlock()
	var all []string
	if one.version != "" && !connected {
		all = append(all, one.version)
	}
	if one.count > 0 {
		all = append(all, "it sent what it may not, the last time "+one.why)
	}
	if connected && one.clock.Abs() > clockSlack {
		way := "ahead of"
		if one.clock < 0 {
			way = "behind"
		}
		all = append(all, fmt.Sprintf("its clock is %s %s this one's", one.clock.Abs().Round(time.Second), way))
	}
	if twice > 0 {
		all = append(all, fmt.Sprintf("%d of its sessions have the id of another machine's, whose are listed", twice))
	}
	if full {
		all = append(all, "home's disk is full: its sessions are copied no further")
	}
	return strings.Join(all, "; ")
}

// words are what the other side says for a person to read.
func words(said string) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said, ""))
	if long := []rune(text); len(long) > mostWords {
		text = string(long[:mostWords]) + "…"
	}
	return strings.TrimSpace(text)
}
