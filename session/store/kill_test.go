package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/abidehub/abide/internal/tools/soak"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// childEnv makes the test binary run writerMain.
const childEnv = "ABIDE_STORE_TEST_WRITER"

// writerMain is the child process of the kill tests. It appends continuously and
// reports every acknowledged or visible event on stdout. Each report is one write
// of one line, so the reports survive the child.
func writerMain(dir string) error {
	// A child that only streams leaves syncing to the log's flusher.
	streams, file := os.Getenv(childEnv+"_STREAMS") != "", int64(64<<10)
	if streams {
		file = 16 << 20 // completing a file syncs it
	}
	s, err := store.Open(dir, store.Options{SegmentBytes: file, TailBytes: 8 << 10, BootID: os.Getenv(childEnv + "_BOOT")})
	if err != nil {
		return err
	}
	ctx := context.Background()
	var l *store.Log
	if list := s.List(); len(list) > 0 {
		l, err = s.Log(ctx, list[0].SessionID)
	} else {
		l, err = s.Create(ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	}
	if err != nil {
		return err
	}
	fmt.Printf("epoch %s\n", l.Epoch())
	var group errgroup.Group
	for w := range 3 {
		group.Go(func() error {
			for i := 0; ; i++ {
				d, word := message(fmt.Sprintf("%d-%d %s", w, i, strings.Repeat("y", i%300))), "ack"
				if streams {
					time.Sleep(time.Millisecond) // as agents do; so the disk does not fill up
				} else if i%20 == 19 {
					d, word = prompt(fmt.Sprintf("%d-%d", w, i)), "durable"
				}
				if i%200 == 150 && !streams {
					d = message(strings.Repeat(strconv.Itoa(i), 100<<10))
				}
				first, _, err := l.Append(ctx, d)
				if err != nil {
					return err
				}
				if len(d.Data) < 1000 {
					fmt.Printf("%s %d %s\n", word, first, d.Data)
				}
				if i%50 == 0 && !streams {
					if err := l.FlushMetadata(ctx); err != nil {
						return err
					}
				}
			}
		})
	}
	group.Go(func() error { // an observer
		for cursor := l.Marks().Visible; ; {
			changed := l.Changed()
			b, err := l.ReadAfter(ctx, cursor, 4<<10)
			if err != nil {
				return err
			}
			if b.Empty() {
				<-changed
				continue
			}
			events, err := b.Events()
			if err != nil {
				return err
			}
			for _, e := range events {
				if len(e.Data) < 1000 {
					fmt.Printf("saw %d %s\n", e.Seq, e.Data)
				}
			}
			cursor = b.Last
		}
	})
	return group.Wait()
}

// promises are the events that children reported, by epoch and seq.
type promises struct {
	epoch   string
	streams bool // the children only stream
	runs    int
	data    map[string]map[event.Seq]string
	durable map[string]map[event.Seq]bool
	// heard holds the time of each first report of the latest child. lost holds the
	// reports that were not found afterwards.
	heard map[event.Seq]time.Time
	lost  []event.Seq
}

// read reads the reports of one child, and closes spoke at the first one.
func (p *promises) read(r io.Reader, spoke chan<- struct{}) {
	scanner := bufio.NewScanner(r)
	for lines := 0; scanner.Scan(); lines++ {
		if lines == 0 {
			close(spoke)
		}
		word, rest, _ := strings.Cut(scanner.Text(), " ")
		if word == "epoch" {
			p.epoch = rest
			if p.data[rest] == nil {
				p.data[rest], p.durable[rest] = map[event.Seq]string{}, map[event.Seq]bool{}
			}
			continue
		}
		number, data, ok := strings.Cut(rest, " ")
		seq, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || !strings.HasSuffix(data, "}") {
			continue // the last line may be incomplete
		}
		p.data[p.epoch][event.Seq(seq)] = data
		if _, before := p.heard[event.Seq(seq)]; !before {
			p.heard[event.Seq(seq)] = time.Now()
		}
		if word == "durable" {
			p.durable[p.epoch][event.Seq(seq)] = true
		}
	}
}

// runAndKill starts a writer and kills it some time after its log is open or, one
// time in four, after its start.
func (p *promises) runAndKill(t *testing.T, dir, boot string, after time.Duration, stop func(child *exec.Cmd)) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^$")
	child.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_BOOT="+boot)
	if p.streams {
		child.Env = append(child.Env, childEnv+"_STREAMS=1")
	}
	p.heard = map[event.Seq]time.Time{}
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	done, spoke := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); p.read(out, spoke) }()
	if p.runs++; p.runs%4 > 0 {
		select {
		case <-spoke:
		case <-done:
		}
	}
	time.Sleep(after) // the moment of the kill is a parameter of the test
	stop(child)
	<-done
	_ = child.Wait() // it was killed
}

// verify compares the log with the reports. lossy means that the power was cut:
// then streamed events may be lost, if the epoch has changed.
func (p *promises) verify(t *testing.T, dir, boot string, lossy bool) int {
	t.Helper()
	s, err := store.Open(dir, store.Options{BootID: boot})
	require.NoError(t, err)
	list := s.List()
	if len(list) == 0 {
		require.Empty(t, p.data, "an acknowledged session is gone")
		require.NoError(t, s.Close())
		return 0
	}
	require.Len(t, list, 1)
	l, err := s.Log(context.Background(), list[0].SessionID)
	require.NoError(t, err)
	events := readAll(t, l)
	requireGapless(t, events)
	found := map[string]map[event.Seq]string{}
	epoch := ""
	for _, e := range events {
		switch payload, err := e.Payload(); v := payload.(type) {
		case event.SessionStart:
			epoch = v.Epoch
		case event.Epoch:
			epoch = v.Epoch
		default:
			require.NoError(t, err)
			require.False(t, !lossy && e.Type == event.TypeCorrupt, "seq %d is corrupt", e.Seq)
		}
		if found[epoch] == nil {
			found[epoch] = map[event.Seq]string{}
		}
		found[epoch][e.Seq] = string(e.Data)
	}
	p.lost = nil
	for epoch, told := range p.data {
		lost := false
		for seq, data := range told {
			now, ok := found[epoch][seq]
			if ok && now == data {
				continue
			}
			lost = true
			if epoch == p.epoch {
				p.lost = append(p.lost, seq)
			}
			require.False(t, ok && !strings.Contains(now, "cannot be read"), "seq %d was %s and is %s", seq, data, now)
			require.False(t, p.durable[epoch][seq] || !lossy, "seq %d is lost: %s", seq, data)
		}
		if lost {
			require.NotEqual(t, epoch, l.Epoch(), "a reported event is lost and the epoch is the same")
		}
	}
	require.NoError(t, s.Close())
	if !lossy {
		requireSound(t, dir)
	}
	return len(events)
}

func TestFault17KillMinus9LosesNothingThatAnybodySaw(t *testing.T) {
	rounds := 20
	if soak.On() {
		rounds = 200
	}
	r := rand.New(rand.NewPCG(1, 1))
	p := &promises{data: map[string]map[event.Seq]string{}, durable: map[string]map[event.Seq]bool{}}
	dir := t.TempDir()
	total := 0
	// A slow machine needs more rounds to write as much.
	for round := 0; round < rounds || total <= 1000 && round < 20*rounds; round++ {
		if round%10 == 9 { // at times a new log, because the old one grows long
			dir = t.TempDir()
			p = &promises{data: map[string]map[event.Seq]string{}, durable: map[string]map[event.Seq]bool{}}
		}
		after := time.Duration(r.IntN(120)) * time.Millisecond
		p.runAndKill(t, dir, "boot", after, func(child *exec.Cmd) {
			require.NoError(t, child.Process.Signal(syscall.SIGKILL))
		})
		total += p.verify(t, dir, "boot", false)
	}
	require.Greater(t, total, 1000, "the children hardly wrote anything")
	t.Logf("%d rounds, %d events verified", rounds, total)
}

// withMount mounts a small file system for a test. It skips the test if it cannot.
func withMount(t *testing.T, kind string, args ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	dir := t.TempDir()
	out, err := exec.Command("mount", append(append([]string{"-t", kind}, args...), dir)...).CombinedOutput()
	if err != nil {
		t.Skipf("cannot mount %s here: %v: %s", kind, err, out)
	}
	t.Cleanup(func() {
		// A child of another test may still hold the mount between its fork and its
		// exec.
		require.Eventually(t, func() bool { return exec.Command("umount", dir).Run() == nil }, 30*time.Second, 50*time.Millisecond)
	})
	return dir
}

func TestFault14AFullTmpfsBlocksTheSessionAndItHealsByItself(t *testing.T) {
	ctx := context.Background()
	dir := withMount(t, "tmpfs", "-o", "size=1m,mode=0700", "abide-test")
	s, err := store.Open(dir, store.Options{})
	require.NoError(t, err)
	l := create(t, s)
	filler := dir + "/filler"
	require.NoError(t, os.WriteFile(filler, make([]byte, 600<<10), 0o600))
	acked := map[event.Seq]string{}
	add := func() error {
		d := message(fmt.Sprintf("%d %s", len(acked), strings.Repeat("z", 3000)))
		first, _, err := l.Append(ctx, d)
		if err == nil {
			acked[first] = string(d.Data)
		}
		return err
	}
	for err = add(); err == nil; err = add() {
	}
	require.ErrorIs(t, err, journal.ErrBlocked)
	require.Equal(t, journal.HealthBlocked, l.Health().State)
	require.ErrorIs(t, add(), journal.ErrBlocked, "the log must stay blocked")
	_, err = l.PutBlob(ctx, "text/plain", make([]byte, 900<<10))
	require.ErrorIs(t, err, journal.ErrBlocked)
	require.Len(t, readAll(t, l), len(acked)+1, "the log must stay readable")

	require.NoError(t, os.Remove(filler))
	awaitHealth(t, l, journal.HealthOK) // without an append, by its own attempts
	require.NoError(t, add())
	events := readAll(t, l)
	for seq, data := range acked {
		require.Equal(t, data, string(events[seq-1].Data))
	}
	require.NoError(t, s.Close())
	requireSound(t, dir)
}

// shutdownExt4 shuts an ext4 file system down like a power cut: the journal is not
// flushed.
func shutdownExt4(dir string) error {
	const (
		extIOCShutdown = 0x8004587d // EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32)
		noLogFlush     = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
	)
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := uint32(noLogFlush)
	return ioctl(f.Fd(), extIOCShutdown, &flags)
}

func TestFault18PowerLossLosesNothingThatWasAcknowledged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("cutting the power of a loop device needs root")
	}
	image := t.TempDir() + "/disk.img"
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 96<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("cannot make an ext4 file system here: %v: %s", err, out)
	}
	rounds := 4
	if soak.On() {
		rounds = 50
	}
	dir := t.TempDir()
	mount := func() error {
		out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount(); err != nil {
		t.Skipf("cannot mount a loop device here: %v", err)
	}
	mounted := true
	t.Cleanup(func() {
		if mounted {
			_ = exec.Command("umount", dir).Run()
		}
	})
	r := rand.New(rand.NewPCG(1, 1))
	p := &promises{data: map[string]map[event.Seq]string{}, durable: map[string]map[event.Seq]bool{}}
	total := 0
	longest := time.Duration(0) // maximum time between the report of an event and the cut that lost it
	// A slow machine needs more rounds to write as much.
	for round := 0; round < rounds || total <= 1000 && round < 20*rounds; round++ {
		boot := fmt.Sprint("boot-", round)
		after := time.Duration(30+r.IntN(200)) * time.Millisecond
		if p.streams = round%2 == 1; p.streams {
			after += 2 * mayLose // so that some events are too old to be lost
		}
		var failed error
		var cut time.Time
		p.runAndKill(t, dir+"/data", boot, after, func(child *exec.Cmd) {
			// Stop the writer first: its later reports would be after the cut.
			cut = time.Now()
			failed = errors.Join(child.Process.Signal(syscall.SIGSTOP), shutdownExt4(dir), child.Process.Signal(syscall.SIGKILL))
		})
		if failed != nil {
			t.Skipf("cannot shut the file system down here: %v", failed)
		}
		// A child of another test may still hold the mount between its fork and its
		// exec.
		require.Eventually(t, func() bool { return exec.Command("umount", dir).Run() == nil }, 30*time.Second, 50*time.Millisecond)
		mounted = false
		require.NoError(t, mount())
		mounted = true
		total += p.verify(t, dir+"/data", boot+"-after", true)
		for _, seq := range p.lost {
			if at, ofThisRound := p.heard[seq]; ofThisRound {
				longest = max(longest, cut.Sub(at))
			}
		}
	}
	require.Greater(t, total, 1000, "the children hardly wrote anything")
	require.LessOrEqual(t, longest, mayLose, "an event of that age was not synced")
	t.Logf("%d events verified; the power cuts lost at most the last %s of the stream", total, longest)
}

// mayLose is the maximum age of a streamed event that a power cut may lose: 100 ms,
// the sync, and the time that a busy machine and its loop device need.
const mayLose = 2 * time.Second
