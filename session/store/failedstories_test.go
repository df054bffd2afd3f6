package store_test

import (
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// failedStories are about a log whose device failed.
var failedStories = []story{
	{
		name:   "a device that failed under the run before",
		before: failed,
		tell:   goesOn,
		steps: []string{
			"create .events-next.jsonl", "datasync .events-next.jsonl", "rename .events-next.jsonl",
			"syncdir session", "rename metadata.json.tmp",
		},
	},
	{
		name: "a device that failed, and a kill while the log was reopened",
		before: func(p *teller) {
			failed(p)
			p.open()
			p.fs.set(nthOf(1, "rename", "events", errCrashed)) // the rename of the fresh file
			_, err := p.store.Log(p.ctx, p.oracle.created[0])
			require.NoError(p.t, err, "a frozen log must stay readable")
			restart(p)
		},
		tell: goesOn,
		steps: []string{
			"create .events-next.jsonl", "datasync .events-next.jsonl", "rename .events-next.jsonl", "syncdir session", "rename metadata.json.tmp",
		},
	},
	{
		name: "a device that failed, and lines that are damaged since",
		before: func(p *teller) {
			failed(p)
			p.oracle.stays = skipped
			p.spoil("events.jsonl", torn)
			p.spoil("events.jsonl", func(data []byte) []byte {
				lines := strings.SplitAfter(string(data), "\n")
				return []byte(strings.Join(append(lines[:len(lines)-2:len(lines)-2], "what\n", lines[len(lines)-2], lines[len(lines)-1]), ""))
			})
		},
		tell: goesOn,
		steps: []string{
			"truncate events.jsonl", "create .events-next.jsonl", "datasync .events-next.jsonl", "rename .events-next.jsonl", "syncdir session", "rename metadata.json.tmp",
		},
	},
	{
		name:   "a device that fails while a log is opened",
		before: killed,
		tell: func(p *teller) {
			p.fails(map[string]int{"datasync events.jsonl": 1})
			goesOn(p)
		},
		steps: []string{"datasync events.jsonl", "rename metadata.json.tmp", "rename .events-next.jsonl"},
	},
	{
		name:   "a device that fails while a log is opened, and for its metadata",
		before: killed,
		tell: func(p *teller) {
			p.fails(map[string]int{"datasync events.jsonl": 1, "write metadata.json.tmp": 3})
			goesOn(p)
		},
	},
	{
		name: "a device that fails while a log without metadata is opened",
		before: func(p *teller) {
			killed(p)
			dir := filepath.Join("/data/sessions", p.oracle.created[0])
			require.NoError(p.t, p.disk.Remove(filepath.Join(dir, "metadata.json")))
			require.NoError(p.t, p.disk.SyncDir(dir))
		},
		tell: func(p *teller) {
			p.fails(map[string]int{"datasync events.jsonl": 1})
			goesOn(p)
		},
	},
	{
		name: "lines at the end that are damaged",
		before: func(p *teller) {
			killed(p)
			p.oracle.stays = skipped // the seqs of removed lines may stay without a line
			id, ruined := p.oracle.created[0], 2
			p.spoil("events.jsonl", func(data []byte) []byte {
				lines := strings.SplitAfter(string(data), "\n")
				end := len(lines) - 1 // after the last newline is nothing
				p.oracle.ruined[id] = event.Seq(end - ruined + 1)
				return []byte(strings.Join(lines[:end-ruined], "") + strings.Repeat("what\n", ruined))
			})
		},
		tell: goesOn,
		steps: []string{
			"rename metadata.json.tmp", "rename quarantined.tmp", "truncate events.jsonl", "write events.jsonl", "datasync events.jsonl",
		},
	},
	{
		name:   "a kill while a line was ended, and then a device that fails",
		before: endedAndKilled,
		tell: func(p *teller) {
			p.open()
			l := p.log(0)
			p.deviceFails(l)
			p.append(l, prompt("p2"))
			p.messages(l, 2)
		},
		steps: []string{"write events.jsonl", "datasync events.jsonl", "rename .events-next.jsonl", "rename metadata.json.tmp"},
	},
}

// skipped are the problem kinds of damaged lines.
var skipped = []string{store.ProblemHole, store.ProblemDamaged}

// goesOn is the next run.
func goesOn(p *teller) {
	p.open()
	l := p.log(0)
	p.append(l, prompt("p2"))
	p.messages(l, 2)
}

// streams creates a session whose newest events may be unsynced.
func streams(p *teller) *store.Log {
	p.open()
	l := p.create()
	p.append(l, prompt("p1"))
	p.flush(l)
	p.messages(l, 2)
	return l
}

// failed ends a run whose device failed.
func failed(p *teller) {
	p.deviceFails(streams(p))
	p.leave()
}

// deviceFails freezes a log.
func (p *teller) deviceFails(l *store.Log) {
	p.oracle.renews = true // the file is copied: see ADR 33
	p.also(func(op, name string) bool { return op == "datasync" && strings.Contains(filepath.Base(name), "events") }, syscall.EIO)
	p.refused(l, journal.ErrFrozen)
	p.also(nil, nil)
}

// endedAndKilled kills a run right before its repair was synced.
func endedAndKilled(p *teller) {
	damaged(damages[1])(p)
	p.open()
	p.fs.set(nthOf(1, "datasync", "events", errCrashed))
	_, err := p.store.Log(p.ctx, p.oracle.created[0])
	require.ErrorIs(p.t, err, errCrashed)
	restart(p)
}

// killed kills a run that has not synced all visible events.
func killed(p *teller) {
	streams(p)
	restart(p)
}

// restart kills the process.
func restart(p *teller) {
	disk := p.disk.restart()
	p.fs.set(func(int, string, string) error { return errCrashed })
	p.leave()
	p.disk, p.fs = disk, &faultFS{FS: disk}
	p.options.FS = p.fs
}

// fails makes the first calls of each step fail, as part of the story.
func (p *teller) fails(steps map[string]int) {
	p.oracle.renews = true // the file is copied: see ADR 33
	left := map[string]int{}
	for step, n := range steps {
		left[step] = n
	}
	p.also(func(op, name string) bool {
		step := stepOf(op, name)
		left[step]--
		return left[step] >= 0
	}, syscall.EIO)
}
