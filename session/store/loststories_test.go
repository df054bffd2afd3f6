package store_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// lostStories are about files and directories that a person removes or replaces.
func lostStories() []story {
	all := slices.Clone(awayStories)
	for which, at := range map[string]func([]string) string{
		"first":  func(names []string) string { return names[0] },
		"last":   func(names []string) string { return names[len(names)-1] },
		"second": func(names []string) string { return names[1] },
	} {
		for meta, keep := range map[string]bool{"": true, " and the metadata": false} {
			all = append(all, story{
				name:    "a " + which + " complete file that is lost" + meta,
				options: store.Options{SegmentBytes: smallFiles},
				before: func(p *teller) {
					inFour(p)
					p.lose(at(p.complete()))
					if !keep {
						p.lose("metadata.json")
						p.oracle.said[p.oracle.created[0]] = nil
						p.oracle.removes[p.oracle.created[0]] = which == "first" // without this file, no later file proves that there was more
					}
				},
				tell: func(p *teller) {
					p.open()
					l := p.log(0)
					p.pages(l)
					p.messages(l, 2)
				},
			})
		}
	}
	for what, of := range standing {
		for _, name := range []string{"metadata.json", "labels.json"} {
			if of.to == "" && what != "a broken link" {
				continue // the session is refused: see below
			}
			all = append(all, story{
				name:    what + " in place of " + name,
				options: store.Options{SegmentBytes: smallFiles},
				before: func(p *teller) {
					inFour(p)
					p.putInPlaceOf(name, of)
					if name == "metadata.json" && of.to == "" {
						p.oracle.said[p.oracle.created[0]] = nil // the last line is stored in this file only
					}
					if name == "metadata.json" && of.to != "" {
						p.oracle.renews = true // the link's target may be older
					}
					if name == "labels.json" && of.to != "" {
						p.oracle.stays = []string{store.ProblemStray} // the file is readable and is replaced when a label is written
					}
				},
				tell: goesOn,
			})
		}
		all = append(all, story{
			name:    what + " in place of a complete file",
			options: store.Options{SegmentBytes: smallFiles},
			before: func(p *teller) {
				inFour(p)
				name := p.complete()[1]
				if of.to == "" {
					p.takes(name)
				}
				p.putInPlaceOf(name, of)
				p.oracle.stays = append(p.oracle.stays, store.ProblemHole, store.ProblemStray, store.ProblemUnreadable)
			},
			tell: goesOn,
		})
	}
	for what, of := range standing {
		if of.to != "" || what == "a broken link" {
			continue
		}
		for _, name := range []string{"events.jsonl", "metadata.json", "labels.json"} {
			all = append(all, story{
				name: what + " in place of " + name + ", which is put back",
				before: func(p *teller) {
					streams(p)
					p.say(p.log(0), func(m *journal.Metadata) { m.Pinned = true })
					p.flush(p.log(0))
					p.leave()
					path := p.path(name)
					p.disk.move(path, "/away")
					p.disk.stand(path, of.kind, "")
					p.oracle.repair = func(m *memFS) {
						if _, err := m.Stat("/away"); err == nil {
							_ = m.RemoveAll(path)
							m.move("/away", path)
						}
					}
				},
				tell: func(p *teller) {
					p.open()
					p.list()
					if !p.gone {
						_, err := p.store.Log(p.ctx, p.oracle.created[0])
						require.Error(p.t, err)
						if p.cause == nil {
							require.ErrorContains(p.t, err, name)
						}
					}
					if p.gone {
						return
					}
					p.oracle.repair(p.disk)
					p.append(p.log(0), prompt("p2"))
				},
			})
		}
	}
	return all
}

// standing are the things that may stand in place of a file. A link to the file
// itself loses nothing. A device is refused like a pipe.
var standing = map[string]struct {
	kind fs.FileMode
	to   string
}{
	"a directory":   {kind: fs.ModeDir},
	"a pipe":        {kind: fs.ModeNamedPipe},
	"a broken link": {kind: fs.ModeSymlink},
	"a link":        {kind: fs.ModeSymlink, to: "/elsewhere"},
}

var awayStories = []story{
	{
		name: "fault 24, a session directory that is removed",
		tell: func(p *teller) {
			p.open()
			l, other := p.create(), p.create()
			p.append(l, prompt("p1"))
			p.messages(l, 2)
			p.vanish(l)
			p.refused(l, journal.ErrFrozen)
			p.append(other, prompt("p1"))
			p.messages(other, 1)
			p.wait(time.Minute)
			p.remove(l)
			p.messages(other, 1)
		},
	},
	{
		name:    "fault 24, the directory of an idle session is removed",
		options: store.Options{IdleAfter: time.Minute, SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			l, other := p.create(), p.create()
			p.messages(l, 10)
			p.wait(3 * time.Minute)
			p.vanish(l)
			p.refused(l, journal.ErrFrozen)
			p.messages(other, 1)
			p.wait(3 * time.Minute)
			p.close()
			p.open()
			p.list()
		},
	},
	{
		name:    "fault 24, a session directory that is moved away and put back",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			l, other := p.create(), p.create()
			p.messages(l, 10)
			p.append(l, prompt("p1"))
			p.moveAway(l)
			p.refused(l, journal.ErrFrozen)
			p.messages(other, 1)
			p.wait(time.Minute)
			p.putBack(l)
			p.append(l, prompt("p2"))
			p.messages(l, 2)
		},
	},
	{
		name:    "fault 24, the directory of an idle session is moved away and put back",
		options: store.Options{IdleAfter: time.Minute},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.append(l, prompt("p1"))
			p.wait(3 * time.Minute)
			p.moveAway(l)
			p.refused(l, journal.ErrFrozen)
			p.putBack(l)
			p.append(l, prompt("p2"))
		},
	},
	{
		name:    "complete files that are lost under a hub",
		options: store.Options{SegmentBytes: smallFiles, TailBytes: 1},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 22)
			for range 2 {
				if p.gone || len(p.complete()) < 2 {
					return
				}
				p.lose(p.complete()[1])
				p.oracle.renews = true // the metadata may have recorded the birth time of that file
				p.pages(l)
				p.messages(l, 2)
			}
			p.retain(l, 2*smallFiles)
			p.pages(l)
			p.append(l, prompt("p"))
		},
	},
	{
		name:   "the first line is lost",
		before: func(p *teller) { p.headless(func(line []byte) []byte { return nil }, true) },
		tell:   goesOn,
	},
	{
		name:   "the first line is damaged",
		before: func(p *teller) { p.headless(func(line []byte) []byte { line[0] = '['; return line }, true) },
		tell:   goesOn,
	},
	{
		name:   "the first line is lost and the metadata",
		before: func(p *teller) { p.headless(func(line []byte) []byte { return nil }, false) },
		tell:   goesOn,
	},
	{
		name:   "the first line is damaged and the metadata lost",
		before: func(p *teller) { p.headless(func(line []byte) []byte { line[0] = '['; return line }, false) },
		tell:   goesOn,
	},
	{
		name: "two hubs on one directory",
		tell: func(p *teller) {
			p.open()
			p.secondHub()
			l := p.create()
			p.messages(l, 2)
			p.secondHub()
			p.append(l, prompt("p"))
			p.close()
			p.open()
			p.secondHub()
			p.messages(p.log(0), 1)
		},
		steps: []string{"lock LOCK"},
	},
}

// inFour creates a session over several files.
func inFour(p *teller) {
	p.open()
	l := p.create()
	p.messages(l, 24)
	p.append(l, prompt("p"))
	p.say(l, func(m *journal.Metadata) { m.Name, m.Named, m.LastLine = "Mine", true, "line" })
	p.flush(l)
	p.close()
}

// path returns the path of a file of the first session.
func (p *teller) path(name string) string {
	return filepath.Join("/data/sessions", p.oracle.created[0], name)
}

// complete returns the names of the complete files of the first session, in order.
func (p *teller) complete() (all []string) {
	names, err := p.disk.ReadDir(p.path("."))
	require.NoError(p.t, err)
	for _, n := range names {
		if strings.HasPrefix(n.Name(), "events-") {
			all = append(all, n.Name())
		}
	}
	return all
}

// takes tells the oracle that the lines of a file, or a part of its beginning, are
// removed.
func (p *teller) takes(name string) {
	id, before := p.oracle.created[0], p.oracle.taken[p.oracle.created[0]]
	first, last := bounds(p.t, name)
	p.oracle.taken[id] = func(seq event.Seq) bool {
		return seq >= first && seq <= last || before != nil && before(seq)
	}
	p.oracle.stays = append(p.oracle.stays, store.ProblemHole, store.ProblemStart)
}

// lose removes a file.
func (p *teller) lose(name string) {
	if strings.HasPrefix(name, "events-") {
		p.takes(name)
	}
	require.NoError(p.t, p.disk.Remove(p.path(name)))
	require.NoError(p.t, p.disk.SyncDir(p.path(".")))
}

// putInPlaceOf replaces a file of the first session.
func (p *teller) putInPlaceOf(name string, of struct {
	kind fs.FileMode
	to   string
}) {
	if of.to != "" {
		p.disk.move(p.path(name), of.to)
	}
	p.disk.stand(p.path(name), of.kind, of.to)
}

// vanish removes the directory of an open session.
func (p *teller) vanish(l *store.Log) {
	if p.gone {
		return
	}
	p.oracle.deletes[l.ID()] = true
	p.oracle.taken[l.ID()] = func(event.Seq) bool { return true } // events stay readable while the file is open
	require.NoError(p.t, p.disk.RemoveAll(filepath.Join("/data/sessions", l.ID())))
	require.NoError(p.t, p.disk.SyncDir("/data/sessions"))
}

// moveAway moves the directory out of the data directory until the repair.
func (p *teller) moveAway(l *store.Log) {
	if p.gone {
		return
	}
	dir := filepath.Join("/data/sessions", l.ID())
	p.disk.move(dir, "/away")
	p.oracle.repair = func(m *memFS) {
		if _, err := m.Stat("/away"); err == nil {
			m.move("/away", dir)
		}
	}
}

// putBack is the repair.
func (p *teller) putBack(l *store.Log) {
	if p.gone {
		return
	}
	p.oracle.repair(p.disk)
	p.oracle.renews = true // the file is copied: see ADR 33
	delete(p.oracle.deletes, l.ID())
}

// headless ends a session and changes its first line.
func (p *teller) headless(change func(line []byte) []byte, meta bool) {
	streams(p)
	p.leave()
	id := p.oracle.created[0]
	p.oracle.taken[id] = func(seq event.Seq) bool { return seq == 1 }
	p.oracle.stays, p.oracle.renews = []string{store.ProblemHole, store.ProblemStart, store.ProblemDamaged}, true
	p.edit("events.jsonl", func(data []byte) []byte {
		first, rest, _ := strings.Cut(string(data), "\n")
		return append(change([]byte(first+"\n")), rest...)
	})
	if !meta {
		p.lose("metadata.json")
		p.oracle.said[id] = nil
	}
}

// secondHub tries to open the data directory of a running hub.
func (p *teller) secondHub() {
	p.t.Helper()
	if p.gone {
		return
	}
	second, options := &faultFS{FS: p.fs}, p.options
	options.FS = second
	s, err := store.Open("/data", options)
	if err == nil {
		_ = s.Close()
	}
	require.Error(p.t, err, "the second hub opened the directory")
	if locked := (*store.LockedError)(nil); !errors.As(err, &locked) {
		p.named("open a second time", err)
	}
	for _, c := range second.trace() { // directories and the lock file exist and stay
		there := c.op == "mkdir" || c.op == "syncdir" || c.step() == "create LOCK"
		require.True(p.t, there || !c.changes(), "the second hub changes something: %s %s", c.op, c.name)
	}
}
