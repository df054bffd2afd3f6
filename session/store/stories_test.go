package store_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// smallFiles is a file size that holds a few events.
const smallFiles = 1600

// stories are the uses of a store, including recovery. Every fault is injected into
// each of them.
func stories() []story {
	all := slices.Clone(plainStories)
	for _, d := range damages {
		all = append(all, story{
			name:    "recovery of " + d.name,
			options: store.Options{SegmentBytes: smallFiles},
			before:  damaged(d),
			tell: func(p *teller) {
				p.open()
				p.list()
				p.messages(p.log(0), 1)
			},
			steps: d.steps,
		})
	}
	all = append(all, failedStories...)
	all = append(all, readStories...)
	all = append(all, lostStories()...)
	return append(all, story{
		name:    "check and repair",
		options: store.Options{SegmentBytes: smallFiles},
		before:  damaged(damages[0]),
		tell: func(p *teller) {
			p.check()
			p.repair()
			p.open()
		},
		steps: damages[0].steps,
	})
}

var plainStories = []story{
	{
		name: "create",
		tell: func(p *teller) {
			p.open()
			p.create()
		},
		steps: []string{
			"mkdir data", "lock LOCK", "rename hub.json.tmp",
			"mkdir .new", "create events.jsonl", "lock events.jsonl", "write events.jsonl", "datasync events.jsonl",
			"create metadata.json.tmp", "rename metadata.json.tmp", "syncdir .new", "rename .new", "syncdir sessions",
		},
	},
	{
		name: "append",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 3)
			p.append(l, prompt("p1"))
			p.append(l, message("one"), prompt("p2"), message("behind it"))
			p.messages(l, 2)
			p.wait(time.Second) // for the sync of the stream
			p.messages(l, 1)
		},
		steps: []string{"write events.jsonl", "datasync events.jsonl", "stat events.jsonl"},
	},
	{
		name:    "append in strict mode",
		options: store.Options{Durability: store.Strict},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 3)
			p.append(l, message("one"), prompt("p2"))
		},
		steps: []string{"write events.jsonl", "datasync events.jsonl"},
	},
	{
		name:    "seal",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 14)
			p.append(l, prompt("p"))
		},
		steps: []string{
			"datasync events.jsonl", "remove .events-next.jsonl", "create .events-next.jsonl", "lock .events-next.jsonl",
			"write .events-next.jsonl", "datasync .events-next.jsonl", "rename events.jsonl", "rename .events-next.jsonl",
			"syncdir session", "write .events-next.jsonl", "datasync .events-next.jsonl",
		},
	},
	{
		name:    "retention",
		options: store.Options{SegmentBytes: smallFiles, TailBytes: 1},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 16)
			p.retain(l, 2*smallFiles)
			p.messages(l, 2)
		},
		steps: []string{"stat sealed", "rename metadata.json.tmp", "remove sealed", "syncdir session"},
	},
	{
		name: "metadata",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 1)
			p.say(l, func(m *journal.Metadata) { m.LastLine = "first" })
			p.flush(l)
			p.say(l, func(m *journal.Metadata) { m.LastLine = "second" })
			p.wait(time.Second) // for the flusher
			p.say(l, func(m *journal.Metadata) { m.LastLine = "third" })
			p.append(l, prompt("p"))
			p.flush(l)
			p.say(l, func(m *journal.Metadata) { m.LastLine = "never flushed" })
		},
		steps: []string{
			"create metadata.json.tmp", "write metadata.json.tmp", "datasync metadata.json.tmp", "rename metadata.json.tmp", "syncdir session",
		},
	},
	{
		name: "labels",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.say(l, func(m *journal.Metadata) { m.Name, m.Named = "Mine", true })
			p.flush(l)
			p.say(l, func(m *journal.Metadata) { m.Pinned, m.Archived, m.Tags = true, true, []string{"a tag"} })
			p.flush(l)
			p.say(l, func(m *journal.Metadata) { m.Name, m.Named = "", false })
			p.flush(l)
		},
		steps: []string{
			"create labels.json.tmp", "write labels.json.tmp", "datasync labels.json.tmp", "rename labels.json.tmp", "create metadata.json.tmp",
		},
	},
	{
		name: "blobs",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			b := p.blob(l, "a picture")
			p.upload(l, b, "a.txt")
			p.upload(l, b, "b.txt")
			p.blob(l, "a picture")
			p.append(l, message(strings.Repeat("huge ", 60<<10)))
			p.append(l, prompt("p"))
		},
		steps: []string{
			"mkdir blobs", "create incoming", "write incoming", "datasync incoming", "rename incoming", "syncdir blobs",
		},
	},
	{
		name: "delete",
		tell: func(p *teller) {
			p.open()
			gone, stays := p.create(), p.create()
			p.messages(gone, 2)
			p.messages(stays, 2)
			p.remove(gone)
			p.messages(stays, 1)
		},
		steps: []string{"rename session", "syncdir sessions", "removeall .deleted"},
	},
	{
		name:    "reopen",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			p.messages(p.create(), 8)
			p.close()
			p.open()
			p.messages(p.log(0), 2)
			p.close()
			p.open()
			p.append(p.log(0), prompt("p"))
		},
		steps: []string{"readfile metadata.json", "readdir session", "read events.jsonl", "rename hub.json.tmp"},
	},
	{
		name:    "idle",
		options: store.Options{IdleAfter: time.Minute},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 2)
			p.wait(3 * time.Minute) // until no writer is named on disk
			p.messages(l, 2)
			p.wait(3 * time.Minute)
		},
		steps: []string{"rename metadata.json.tmp"},
	},
	{
		name: "a full device",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 2)
			p.also(func(op, _ string) bool { return writes(op) }, syscall.ENOSPC)
			p.refused(l, journal.ErrBlocked)
			p.also(nil, nil)
			p.wait(10 * time.Second) // until the log has recovered by itself
			p.messages(l, 2)
		},
		steps: []string{"truncate events.jsonl", "create room.tmp", "write room.tmp", "remove room.tmp"},
	},
	{
		name: "a device that fails",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.append(l, prompt("p1"))
			p.messages(l, 2)
			p.deviceFails(l)
			p.append(l, prompt("p2"))
			p.messages(l, 2)
		},
		steps: []string{
			"read events.jsonl", "create .events-next.jsonl", "datasync .events-next.jsonl", "rename .events-next.jsonl",
		},
	},
	{
		name:    "recorder",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			l := p.record()
			p.messages(l, 8)
			p.closeRecorder()
			p.open()
			p.messages(p.log(0), 2)
		},
		steps: []string{"rename .new", "rename events.jsonl", "rename .events-next.jsonl"},
	},
	{
		name:    "all of it",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			for round := range 2 {
				l := p.create()
				for i := range 10 {
					d := message(fmt.Sprintf("round %d text %d %s", round, i, strings.Repeat("x", 120)))
					if i%4 == 3 {
						d = prompt(fmt.Sprintf("p%d-%d", round, i))
					}
					p.append(l, d)
					if i%5 == 2 {
						p.say(l, func(m *journal.Metadata) { m.LastLine = fmt.Sprint("line ", i) })
						p.flush(l)
					}
					if i == 8 {
						p.retain(l, 1<<10)
					}
				}
			}
		},
	},
}

// damages are the kinds of damage that a crash leaves. They lose no promised event.
var damages = []damage{
	{"a torn tail", func(p *teller) { p.spoil("events.jsonl", torn) }, []string{
		"create quarantined.tmp", "write quarantined.tmp", "datasync quarantined.tmp", "rename quarantined.tmp", "syncdir quarantine",
		"truncate events.jsonl", "datasync events.jsonl", "rename metadata.json.tmp",
	}},
	{"a line without its newline", func(p *teller) {
		p.spoil("events.jsonl", func(data []byte) []byte { return data[:len(data)-1] })
	}, []string{"write events.jsonl", "datasync events.jsonl"}},
	{"metadata that is garbage", func(p *teller) {
		p.spoil("metadata.json", garbage)
		p.oracle.said[p.oracle.created[0]] = nil // the last line is stored in this file only
	}, []string{"rename quarantined.tmp", "rename metadata.json.tmp"}},
	{"labels that are garbage, and a file half written", func(p *teller) {
		p.spoil("labels.json", garbage)
		p.spoil("metadata.json.tmp", garbage)
	}, []string{"rename labels.json", "remove metadata.json.tmp", "rename labels.json.tmp"}},
	{"a kill between the renames of a seal", func(p *teller) {
		dir := filepath.Join("/data/sessions", p.oracle.created[0])
		require.NoError(p.t, p.disk.Rename(filepath.Join(dir, "events.jsonl"), filepath.Join(dir, ".events-next.jsonl")))
		require.NoError(p.t, p.disk.SyncDir(dir))
	}, []string{"rename .events-next.jsonl", "syncdir session"}},
	{"metadata that is gone", func(p *teller) {
		dir := filepath.Join("/data/sessions", p.oracle.created[0])
		require.NoError(p.t, p.disk.Remove(filepath.Join(dir, "metadata.json")))
		require.NoError(p.t, p.disk.SyncDir(dir))
		p.oracle.said[p.oracle.created[0]] = nil
	}, []string{"rename metadata.json.tmp"}},
	{"metadata whose numbers cannot be right", func(p *teller) {
		p.spoil("metadata.json", func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"max_seq":1`), []byte(`"max_seq":7`), 1)
		})
		p.oracle.renews = true // the length of the log is unknown
	}, []string{"rename quarantined.tmp", "write events.jsonl", "rename metadata.json.tmp"}},
	{"metadata that is ahead of the log", func(p *teller) {
		id := p.oracle.created[0]
		p.spoil("events.jsonl", func(data []byte) []byte {
			lines := bytes.SplitAfter(data, []byte("\n"))
			end := len(lines) - 2 // the last line is lost, and nothing comes after it
			p.oracle.ruined[id] = p.acked(id)
			p.oracle.stays = skipped
			return bytes.Join(lines[:end], nil)
		})
	}, []string{"write events.jsonl", "datasync events.jsonl", "rename metadata.json.tmp"}},
	{"a second event of a seq", func(p *teller) {
		p.edit("events.jsonl", again)
		p.oracle.stays = []string{store.ProblemRepeat}
	}, []string{"rename metadata.json.tmp"}},
	{"a complete file that was edited", func(p *teller) {
		names, err := p.disk.ReadDir(filepath.Join("/data/sessions", p.oracle.created[0]))
		require.NoError(p.t, err)
		i := slices.IndexFunc(names, func(n fs.DirEntry) bool { return strings.HasPrefix(n.Name(), "events-") })
		p.edit(names[i].Name(), again)
		p.oracle.stays = []string{store.ProblemRepeat}
	}, []string{"read sealed"}},
	{"a backup of an earlier time that was put back", func(p *teller) {
		id := p.oracle.created[0]
		dir := filepath.Join("/data/sessions", id)
		backup := p.disk.files()
		p.open()
		l := p.log(0)
		p.oracle.ruined[id] = l.Marks().Visible + 1
		p.messages(l, 2)
		p.close()
		for path, data := range backup {
			if filepath.Dir(path) == dir {
				p.disk.copyOver(path, []byte(data))
			}
		}
	}, []string{"write events.jsonl", "datasync events.jsonl", "rename metadata.json.tmp"}},
	{"a session that was being deleted", func(p *teller) {
		const begun = "/data/sessions/.deleted-20260221-140307-9f3a11c0"
		require.NoError(p.t, p.disk.Mkdir(begun))
		p.disk.change(begun+"/events.jsonl", torn)
		require.NoError(p.t, p.disk.SyncDir("/data/sessions"))
	}, []string{"syncdir sessions", "removeall .deleted"}},
	{"a session that was being made", func(p *teller) {
		const abandoned = "/data/sessions/.new-20260221-140307-9f3a11c0"
		require.NoError(p.t, p.disk.Mkdir(abandoned))
		p.disk.change(abandoned+"/events.jsonl", torn)
		require.NoError(p.t, p.disk.SyncDir("/data/sessions"))
	}, []string{"removeall .new"}},
}

// damage is one kind of damage that a crash leaves.
type damage struct {
	name  string
	do    func(*teller)
	steps []string // of its recovery
}

func torn(data []byte) []byte { return append(data, `{"seq":99,"time":"2026-02-21T14`+"\x00\x00"...) }

func garbage([]byte) []byte { return []byte("garbage") }

// again appends the first message of a file again, changed but with the same seq.
func again(data []byte) []byte {
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte("text ")) {
			body := bytes.Replace(line[:bytes.LastIndex(line, []byte(`,"crc"`))], []byte("text "), []byte("TEXT "), 1)
			return fmt.Appendf(data, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		}
	}
	return data
}

// damaged creates a session over two files and damages it.
func damaged(d damage) func(*teller) {
	return func(p *teller) {
		p.open()
		l := p.create()
		p.messages(l, 8)
		p.append(l, prompt("p"))
		p.say(l, func(m *journal.Metadata) { m.Name, m.Named, m.LastLine = "Mine", true, "line" })
		p.flush(l)
		p.close()
		d.do(p)
	}
}
