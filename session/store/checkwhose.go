package store

import (
	"fmt"
	"path/filepath"
)

// begins verifies the first line of a file.
func (c *checking) begins(name string, seg *segment, s *scan) {
	switch {
	case seg.first == 1 && !s.sawFirst:
		c.add(ProblemStart, name, 1, "no session_start")
	case seg.first == 1 && s.started.SessionID != c.id:
		c.add(ProblemStart, name, 1, "session_start is of session %q", s.started.SessionID)
	case s.epoch == "" && seg.first > 1:
		c.add(ProblemStart, name, seg.first, "no segment_start")
	case c.hasMeta && seg.last == 0 && c.meta.LogFirst == seg.first && c.meta.Epoch != s.epoch:
		c.add(ProblemMetadata, metadataName, 0, "epoch is %q, the log's is %q", c.meta.Epoch, s.epoch)
	}
}

// forgotten tells that nothing says which agent the session has.
func (c *checking) forgotten(k kin) {
	made := c.meta.made()
	if !c.hasMeta {
		var err error
		if made, err = k.made(); err != nil {
			return // which is said of the file
		}
	}
	if made.Agent == "" {
		c.add(ProblemStart, "", 0, "nothing says any more which agent the session has: it can be read, and takes no prompts")
	}
}

// stranger tells of a file that is another session's, and where this one's is if it
// lies there in turn.
func (c *checking) stranger(seg *segment, session string) {
	name, becomes := filepath.Base(seg.currentPath()), "nothing of it is shown, and repair moves it to quarantine"
	if seg.lastSeq() == 0 {
		becomes = "it is moved to quarantine when the session is opened, and the log goes on in a new one"
	}
	detail := fmt.Sprintf("it %s; %s", belongsTo(session), becomes)
	if own := c.whereOwn(seg, session); own != "" {
		detail += "; this session's own is " + own
	}
	c.report.add(Problem{Session: c.id, Kind: ProblemStart, File: name, Seq: seg.first, Mendable: true, Detail: detail})
	seg.rest()
	if seg.lastSeq() == 0 {
		seg.retire() // only read from
	}
}

// whereOwn looks among the files of the other session for the one that was to be where
// a file of it is.
func (c *checking) whereOwn(seg *segment, session string) string {
	if !ValidID(session) {
		return ""
	}
	dir := filepath.Join(filepath.Dir(c.dir), session)
	files, err := sealedFiles(c.fs, dir)
	if err != nil {
		return ""
	}
	for _, other := range append(files, &segment{fs: c.fs, path: filepath.Join(dir, activeName)}) {
		o, err := other.origin()
		other.retire() // only read from
		if err == nil && o.session == c.id && o.first == seg.first {
			return filepath.Join(sessionsDir, session, filepath.Base(other.path))
		}
	}
	return ""
}

// behindEnd tells of what lies in a complete file behind the line that its name says is
// the last: lines that no other file has, if it was renamed, and else nothing.
func (c *checking) behindEnd(name string, seg, next *segment, file File, s *scan) error {
	torn := s.torn()
	more := newScan(seg.last)
	if err := more.run(file, torn.offset, torn.offset+torn.size); err != nil {
		return err
	}
	if more.good.seq > seg.last && next != nil {
		if o, err := next.origin(); err == nil && o.first > seg.last+1 {
			last := min(more.good.seq, o.first-1)
			c.add(ProblemHole, name, seg.last+1, "it and all up to seq %d lie in this file, whose name ends before them: rename it to %s",
				last, sealedName(seg.first, last))
			return nil
		}
	}
	// A kill came while a frozen log was reopened, before the file was cut.
	c.report.Notes = append(c.report.Notes, Problem{
		Session: c.id, Kind: ProblemTorn, File: name, Seq: seg.last,
		Detail: "what is behind it in this file is nothing anybody reads; the next file goes on",
	})
	return nil
}
