package store_test

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/store"
)

// takeStories are of a hub that takes over the session of a process that died. The
// faults are the hub's.
var takeStories = []story{
	{
		name:    "a recorder that dies",
		options: store.Options{SegmentBytes: smallFiles},
		tell:    func(p *teller) { p.takesOver(nil) },
		steps:   takes,
	},
	{
		name:    "a recorder that dies in the middle of a line",
		options: store.Options{SegmentBytes: smallFiles},
		tell:    func(p *teller) { p.takesOver(torn) },
		steps:   append([]string{"rename quarantined.tmp", "syncdir quarantine", "truncate events.jsonl"}, takes...),
	},
	{
		name:    "a recorder that died before the hub started",
		options: store.Options{SegmentBytes: smallFiles},
		before: func(p *teller) {
			l := p.recordBeside()
			p.messages(l, 12)
			p.recorderDies()
		},
		tell:  goesOn,
		steps: takes,
	},
}

// takes are the steps of a take-over.
var takes = []string{"lock events.jsonl", "write events.jsonl", "datasync events.jsonl", "create metadata.json.tmp", "rename metadata.json.tmp"}

// takesOver follows a recorder until it dies, and goes on in its log.
func (p *teller) takesOver(leaves func([]byte) []byte) {
	p.t.Helper()
	recorded := p.recordBeside()
	p.messages(recorded, 4)
	p.open()
	followed := p.log(0)
	p.messages(recorded, 10)
	p.wait(2 * time.Second)
	p.look(followed)
	p.messages(recorded, 1) // its process dies before that is synced
	p.recorderDies()
	if leaves != nil {
		p.spoil("events.jsonl", leaves)
	}
	p.wait(2 * time.Second)
	p.append(followed, prompt("taken over"))
	p.messages(followed, 2)
}

// recordBeside makes a session in another process, which no fault hits.
func (p *teller) recordBeside() *store.Log {
	p.t.Helper()
	p.beside = &faultFS{FS: p.disk}
	options := p.options
	options.FS = p.beside
	p.try("open recorder", func() (err error) {
		p.recorder, err = store.OpenRecorder("/data", options)
		return err
	})
	return p.createIn(func() (*store.Log, error) {
		return p.recorder.Create(p.ctx, event.SessionStart{Agent: "demo", Workspace: "/w"})
	})
}

// recorderDies kills that process.
func (p *teller) recorderDies() {
	p.beside.set(func(int, string, string) error { return errCrashed })
	_ = p.recorder.Close() // which gives the lock back, as the end of a process does
	p.recorder = nil
}
