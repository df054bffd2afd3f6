package queue

// Save is one write of the file. Its owner calls Write and then Settle.
type Save struct {
	files    Files
	contents contents
	version  uint64 // of the contents, without the client's change
	// change is the client's change that contents has; nil if there is none.
	change func(contents) (contents, error)
	// old are the entries that no longer fit into the ledger, and missing those of
	// them that the archive lacks. young is the rest of the ledger.
	old, missing, young ledger
	// begun says that the archive may have bytes.
	begun bool

	archived, landed bool
	err              error
}

// ask plans a client's change.
func (q *Queue) ask(change func(contents) (contents, error)) (*Save, error) {
	next, err := change(q.now)
	if err != nil {
		return nil, err
	}
	q.asked = true
	s := q.save(next)
	s.change = change
	return s, nil
}

// adopt makes next the contents.
func (q *Queue) adopt(next contents) {
	q.now = next
	q.version++
}

// Due returns the Save of the changes that follow from the log. It is nil if the
// file has them, and while another Save is not settled.
func (q *Queue) Due() *Save {
	if q.saved == q.version || q.saves > 0 {
		return nil
	}
	return q.save(q.now)
}

// Retry returns a Save if the last one failed, and no other is to be settled.
func (q *Queue) Retry() *Save {
	if q.failed == nil || q.saves > 0 {
		return nil
	}
	return q.save(q.now)
}

// Flush returns the Save after which everything is on the device; nil if it is. It
// counts as a client's change.
func (q *Queue) Flush() *Save {
	if q.saved == q.version {
		return nil
	}
	s, _ := q.ask(func(c contents) (contents, error) { return c, nil }) // never fails
	return s
}

func (q *Queue) save(c contents) *Save {
	s := &Save{files: q.files, contents: c, version: q.version}
	if len(c.Ledger) >= q.splitAt {
		s.old, s.young = c.Ledger.split()
		s.missing = q.old.news(s.old)
		s.begun, q.old.begun = q.old.begun, q.old.begun || len(s.missing) > 0
	}
	q.saves++
	return s
}

// Write writes the file. It may run in any goroutine. It blocks as long as the
// device does.
func (s *Save) Write() {
	c := s.contents
	if len(s.old) > 0 && appendEntries(s.files, s.missing, s.begun) == nil {
		s.archived = true
		c.Ledger = s.young
	} // otherwise they stay in the ledger, so that no prompt id is ever lost
	s.landed, s.err = save(s.files, c)
}

// Settle takes the result of a Save that was written. If it returns nil, the
// client's change has taken effect and is on the device. Otherwise the change did
// not happen, unless a reader of the file finds it: then it has taken effect, and
// Flush must succeed before a client is told.
func (q *Queue) Settle(s *Save) error {
	q.saves--
	q.failed = s.err
	switch {
	case s.archived:
		for _, e := range s.old {
			q.old.add(e)
		}
		q.now.Ledger = q.now.Ledger.without(s.old)
		q.splitAt = 2*ledgerSize + 1
	case len(s.old) > 0:
		q.splitAt = len(s.contents.Ledger) + ledgerSize // try again after more prompts
	}
	stored := s.version
	if s.change != nil {
		q.asked = false
		if s.landed {
			next, err := s.change(q.now)
			if err != nil { // the log changed the item meanwhile, and the next Save says so
				q.version++
				return err
			}
			if q.version == s.version {
				stored++
			}
			q.adopt(next)
		}
	}
	if s.err == nil {
		q.saved = max(q.saved, stored)
	}
	return s.err
}
