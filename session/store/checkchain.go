package store

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/abidehub/abide/session/store/logfile"
	"github.com/abidehub/abide/session/store/packed"
)

// begins verifies the first line of a file.
func (c *checking) begins(name string, seg *segment, s *logfile.Scan) {
	switch {
	case seg.first == 1 && !s.SawFirst:
		c.add(ProblemStart, name, 1, "no session_start")
	case s.Epoch == "" && seg.first > 1:
		c.add(ProblemStart, name, seg.first, "no segment_start")
	case c.hasMeta && seg.last == 0 && c.meta.LogFirst == seg.first && c.meta.Epoch != s.Epoch:
		c.add(ProblemMetadata, metadataName, 0, "epoch is %q, the log's is %q", c.meta.Epoch, s.Epoch)
	}
}

// forgotten reports a session whose files do not name the agent.
func (c *checking) forgotten(list []*segment) {
	made := madeOf(&c.meta)
	if !c.hasMeta {
		var err error
		if made, err = madeBy(list, c.id); err != nil {
			return // already reported for the file
		}
	}
	if made.Agent == "" {
		c.add(ProblemStart, "", 0, "no file names the session's agent any more: the session can be read, and takes no prompts")
	}
}

// stray reports a file that does not fit the chain of the log.
func (c *checking) stray(seg, next *segment) bool {
	name, active := filepath.Base(seg.currentPath()), seg.lastSeq() == 0
	if active {
		o, err := seg.origin()
		if err != nil || o.Session == "" || o.Session == c.id {
			return false // reading its lines will report the error
		}
		c.add(ProblemStray, name, seg.first, "it belongs to session %q: the session cannot be opened before its own file is in this place", o.Session)
		seg.retire() // only read from
		return true
	}
	fits, err := seg.fits(next, c.id)
	if err != nil || fits {
		return false
	}
	c.add(ProblemStray, name, seg.first, "it does not fit the chain of the log, so that its seqs are lost; put the session's own file in its place")
	seg.rest()
	return true
}

// strays reports files with names of log files that are not part of the log.
func (c *checking) strays(list []*segment) {
	names, err := c.fs.ReadDir(c.dir)
	if err != nil {
		return // already reported
	}
	for _, n := range names {
		name := strings.TrimSuffix(n.Name(), packed.Suffix)
		if !strings.HasPrefix(name, "events") || !n.Type().IsRegular() || name == activeName {
			continue
		}
		if _, _, complete := parseSealedName(name); complete && c.live {
			continue // it may have been sealed since
		}
		if !slices.ContainsFunc(list, func(s *segment) bool { return filepath.Base(s.currentPath()) == name }) {
			c.add(ProblemStray, name, 0, "its name is not that of a log file, or another file has its seqs; it is not read")
		}
	}
}
