package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// archiveName is the file of the entries that no longer fit into the ledger in
// queue.json.
const archiveName = "ledger.jsonl"

// archive stores the outcomes of prompts that are too old for the ledger: an
// append-only file with an entry per line, and some 100 bytes per entry in memory,
// from which a resend is answered. Of several entries of a prompt the last counts.
// An entry that a crash left incomplete is still in the ledger.
type archive struct {
	entries map[digest]archived
	begun   bool // the file may have bytes
}

// digest identifies a prompt id or a payload: 128 bits.
type digest [16]byte

// archived is an Entry without the fields that only people read.
type archived struct {
	hash    digest // of the payload; zero if unknown
	seq     int64
	outcome Outcome
}

func digestOf(promptID string) digest {
	sum := sha256.Sum256([]byte(promptID))
	return digest(sum[:16])
}

func (a *archive) add(e Entry) {
	if a.entries == nil {
		a.entries = map[digest]archived{}
	}
	a.entries[digestOf(e.PromptID)] = compact(e)
}

func compact(e Entry) archived {
	c := archived{seq: e.Seq, outcome: e.Outcome}
	// An invalid hash counts as unknown and matches any payload.
	if raw, err := hex.DecodeString(e.Hash); err == nil && len(raw) == len(c.hash) {
		c.hash = digest(raw)
	}
	return c
}

// find returns the entry of a prompt id.
func (a *archive) find(promptID string) (Entry, bool) {
	c, ok := a.entries[digestOf(promptID)]
	if !ok {
		return Entry{}, false
	}
	e := Entry{PromptID: promptID, Outcome: c.outcome, Seq: c.seq}
	if c.hash != (digest{}) {
		e.Hash = hex.EncodeToString(c.hash[:])
	}
	return e, true
}

// news returns the entries that the archive does not have yet.
func (a *archive) news(entries []Entry) []Entry {
	var list []Entry
	for _, e := range entries {
		if c, ok := a.entries[digestOf(e.PromptID)]; !ok || c != compact(e) {
			list = append(list, e)
		}
	}
	return list
}

// loadArchive reads the file. It skips unreadable lines.
func loadArchive(files Files) (archive, error) {
	var a archive
	data, err := files.Read(archiveName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, fmt.Errorf("read %s: %w", archiveName, err)
	}
	a.begun = len(data) > 0
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.PromptID != "" && e.Outcome != "" {
			a.add(e)
		}
	}
	return a, nil
}

// appendEntries appends entries to the file, which may have bytes if begun. If it
// returns nil they are on the device; otherwise some of them may be.
func appendEntries(files Files, entries []Entry, begun bool) error {
	if len(entries) == 0 {
		return nil
	}
	var lines bytes.Buffer
	if begun {
		// A crash may have left an incomplete line. End it; an empty line is
		// ignored.
		lines.WriteByte('\n')
	}
	out := json.NewEncoder(&lines)
	out.SetEscapeHTML(false)
	for _, e := range entries {
		if err := out.Encode(e); err != nil {
			return fmt.Errorf("encode %s: %w", archiveName, err)
		}
	}
	return files.Append(archiveName, lines.Bytes())
}
