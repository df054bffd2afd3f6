package store

import "errors"

// errDoubtful says that metadata can be read and is not what a store wrote. None of
// its numbers is acted upon: by them files are removed and seqs are given out.
var errDoubtful = errors.New("its checksum is missing or wrong")

// words is the metadata without what its numbers say. Who wrote it stays, and
// that the device failed: both make recovery more careful.
func (m Metadata) words() Metadata {
	m.EventCount, m.MinSeq, m.MaxSeq, m.FrozenSeq, m.Epoch = 0, 0, 0, 0, ""
	m.Checkpoint, m.Damage = Checkpoint{}, nil
	return m
}
