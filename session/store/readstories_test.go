package store_test

import (
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/store"
)

// readStories read, list and check open logs, and apply retention to them.
var readStories = []story{
	{
		name:    "reading from files",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 14)
			p.pages(l)
			p.close()
			p.open()
			p.pages(p.log(0))
		},
		steps: []string{"open sealed", "read sealed", "read events.jsonl"},
	},
	{
		name:    "reading while old events are removed",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			p.messages(p.create(), 14)
			p.close()
			p.open()
			l := p.log(0)
			p.retain(l, 2*smallFiles)
			p.pages(l)
			p.retain(l, 1)
			p.messages(l, 2)
			p.pages(l)
		},
		steps: []string{"remove sealed", "read sealed"},
	},
	{
		name:    "a log that is kept to a size",
		options: store.Options{SegmentBytes: smallFiles, KeepBytes: 3 * smallFiles},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.removable(l)
			p.messages(l, 24)
			p.wait(10 * time.Second)
			if !p.gone {
				p.store.SetKeep(smallFiles)
			}
			p.wait(10 * time.Second)
			p.messages(l, 2)
			p.close()
			p.options.KeepBytes = 1
			p.open()
			p.log(0)
			p.wait(10 * time.Second)
		},
		steps: []string{"stat sealed", "rename metadata.json.tmp", "remove sealed", "syncdir session"},
	},
	{
		name: "lists",
		tell: func(p *teller) {
			p.open()
			first := p.create()
			p.say(first, func(m *journal.Metadata) { m.Name, m.Named = "Mine", true })
			p.flush(first)
			p.list()
			p.messages(p.create(), 1)
			p.list()
			p.close()
			p.open()
			p.list()
			p.log(0)
			p.list()
		},
		steps: []string{"readfile metadata.json"},
	},
	{
		name:    "a check beside a hub that writes",
		options: store.Options{SegmentBytes: smallFiles},
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.messages(l, 12)
			p.append(l, message(strings.Repeat("huge ", 60<<10)))
			p.flush(l)
			p.checkBeside()
			p.messages(l, 2)
		},
		steps: []string{"open events.jsonl", "lock events.jsonl", "read sealed", "read blob"},
	},
	{
		name: "a large value that there is no space for",
		tell: func(p *teller) {
			p.open()
			l := p.create()
			p.also(func(op, _ string) bool { return writes(op) }, syscall.ENOSPC)
			p.refusedDraft(l, message(strings.Repeat("huge ", 60<<10)), journal.ErrBlocked)
			p.also(nil, nil)
			p.wait(10 * time.Second)
			p.append(l, message(strings.Repeat("huge ", 60<<10)))
			p.messages(l, 1)
		},
		steps: []string{"write room.tmp", "remove room.tmp", "rename incoming"},
	},
}

// pages reads a log backwards page by page, then forwards.
func (p *teller) pages(l *store.Log) {
	p.t.Helper()
	if p.gone {
		return
	}
	read := true
	for before := event.Seq(0); read; {
		first := event.Seq(1)
		read = p.try("read a page", func() error {
			b, err := l.ReadBefore(p.ctx, before, 4)
			if err == nil && !b.Empty() {
				first = b.First
				require.Equal(p.t, int(b.Last-b.First)+1, b.Count, "a hole was shown")
			}
			return err
		})
		if first <= l.Marks().Min {
			break
		}
		before = first
	}
	p.look(l)
}

// removable tells the oracle that retention may remove the oldest files of a log at
// any time.
func (p *teller) removable(l *store.Log) {
	if !p.gone {
		p.oracle.removes[l.ID()] = true
	}
}

// checkBeside checks the open sessions. Without a fault the check must find
// nothing.
func (p *teller) checkBeside() {
	p.t.Helper()
	p.try("check", func() error {
		report, err := p.store.Check(p.ctx, "")
		if err == nil && p.cause == nil {
			require.Empty(p.t, report.Problems)
		}
		return err
	})
}
