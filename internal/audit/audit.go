// Package audit keeps the list of grants, answers, deletions and refusals.
//
// It is two files in the data directory, 0600, one JSON object a line: grants.jsonl has
// the records that give or take access, audit.jsonl the others. So no number of answers
// removes a grant.
//
//	{"seq":7,"time":"…","verb":"token_made","by":"command line","by_id":"uid:1000","peer":"local","session_id":"…","detail":"…"}
//
// The seqs count through both. At 8 MiB a file becomes grants.1.jsonl or audit.1.jsonl,
// in place of the one before, and a new one begins; seq goes on. Several processes may
// append: each does so under a lock on audit.lock. A line that a crash cut off is read
// past. Earlier versions kept the grants in audit.jsonl, too.
package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockName = "audit.lock"

	// maxFile is the size at which a new file begins.
	maxFile = 8 << 20
	// maxDetail bounds the detail of a record, maxText each of its other texts, in bytes.
	maxDetail, maxText = 300, 256
	// maxLine bounds a line: six texts of escaped bytes.
	maxLine = 6*6*maxDetail + 1024

	// Each credential may write perHour records to audit.jsonl in an hour, and so may the
	// rules of a session. The others are counted.
	perHour = 1000
	hour    = time.Hour
)

// series is a file and the one before it.
type series struct{ name, previous string }

// files returns the series, grants first.
func files() [2]series {
	return [2]series{{"grants.jsonl", "grants.1.jsonl"}, {"audit.jsonl", "audit.1.jsonl"}}
}

// Verb is the kind of an action.
type Verb string

// The verbs.
const (
	PairingLink      Verb = "pairing_link"      // a link that pairs one browser was made
	DevicePaired     Verb = "device_paired"     // detail: id, name
	TokenMade        Verb = "token_made"        // detail: id, name, scope
	AccessRenamed    Verb = "access_renamed"    // detail: id, name
	AccessRevoked    Verb = "access_revoked"    // detail: id
	MachineLink      Verb = "machine_link"      // a link with which one machine joins was made
	MachineJoined    Verb = "machine_joined"    // detail: id, name, what it allows
	MachineRenamed   Verb = "machine_renamed"   // detail: id, name
	MachineForgotten Verb = "machine_forgotten" // detail: id
	HomeJoined       Verb = "home_joined"       // this hub joined a home; detail: its address, what is allowed
	HomeLeft         Verb = "home_left"
	RuleAdded        Verb = "rule_added"        // detail: the rule
	RuleRevoked      Verb = "rule_revoked"      // detail: the rule's id
	FolderAllowed    Verb = "folder_allowed"    // detail: its path; it was written into the configuration
	NameAdded        Verb = "public_name_added" // detail: the name; it was written into the configuration
	AgentAdded       Verb = "agent_added"       // detail: the lines written into the configuration
	AgentChecked     Verb = "agent_check"       // detail: the agent, why it was refused
	AgentLogin       Verb = "agent_login"       // detail: the agent, the method, the command in a terminal, why it was refused
	AgentLogout      Verb = "agent_logout"      // detail: the agent, why it was refused
	AgentListed      Verb = "agent_sessions"    // a page of its sessions; detail: the agent, why it was refused
	AgentAdopted     Verb = "agent_adopt"       // detail: the agent, its session, why it was refused
	PermissionAnswer Verb = "permission_answer" // detail: outcome and permission's id
	RuleAnswer       Verb = "rule_answer"       // a rule answered; by is its maker; detail: the rule, outcome and permission's id
	FolderMade       Verb = "folder_made"       // detail: its path
	WorktreeRemoved  Verb = "worktree_removed"  // detail: its path
	SessionDeleted   Verb = "session_deleted"   // into the trash; detail: that it was removed from there
	SessionRestored  Verb = "session_restored"  // from the trash
	ScheduleAdded    Verb = "schedule_added"    // detail: its id, when it runs, its task
	SchedulePaused   Verb = "schedule_paused"   // detail: its id
	ScheduleResumed  Verb = "schedule_resumed"  // detail: its id
	ScheduleDeleted  Verb = "schedule_deleted"  // detail: its id
	QueueCleared     Verb = "queue_cleared"     // detail: how many prompts waited
	PromptRemoved    Verb = "prompt_removed"    // from the queue; detail: its id
	SignInFailed     Verb = "sign_in_failed"    // detail: why
	LeftOut          Verb = "records_left_out"  // detail: how many, and of which hour
)

// grants reports whether actions of the kind give or take access.
func (v Verb) grants() bool {
	switch v {
	case PairingLink, DevicePaired, TokenMade, AccessRenamed, AccessRevoked, RuleAdded, RuleRevoked, FolderAllowed, NameAdded, AgentAdded:
		return true
	default:
		return false
	}
}

// Record is one line.
type Record struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Verb Verb      `json:"verb"`
	// By is the actor's name at that time, ByID the credential's id.
	By   string `json:"by,omitempty"`
	ByID string `json:"by_id,omitempty"`
	// Peer is the address that the request came from.
	Peer      string `json:"peer,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

// payer is whose number of records an action counts to.
func (r Record) payer() payer {
	if r.Verb == RuleAnswer { // the agent asked, not the rule's maker
		return payer{session: r.SessionID}
	}
	return payer{by: r.ByID}
}

type payer struct{ by, session string }

// spent is what a payer has written since a time, and what was left out.
type spent struct {
	last           Record
	since          time.Time
	written, extra int
}

// Trail is the audit trail of a data directory. Its methods may be called at any time
// from any goroutine. The nil Trail keeps nothing.
type Trail struct {
	dir string

	mu    sync.Mutex
	spent map[payer]*spent
}

// Open returns the trail of a data directory, which must exist.
func Open(dir string) *Trail { return &Trail{dir: dir, spent: map[payer]*spent{}} }

// Append writes a record, which gets the next seq and the time. It is on the device
// when Append returns. Beyond 1,000 records of a credential in an hour, those that
// neither give nor take access are only counted; one record then has their number.
func (t *Trail) Append(r Record) error {
	if t == nil {
		return nil
	}
	list, now := t.over(), time.Now()
	if r.Verb.grants() || t.take(r, now) {
		list = append(list, r)
	}
	return t.write(list)
}

// Close writes the number of the records that were left out so far.
func (t *Trail) Close() error {
	if t == nil {
		return nil
	}
	return t.write(t.counted(func(*spent) bool { return true }))
}

// take counts a record, and reports whether it is to be written.
func (t *Trail) take(r Record, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spent[r.payer()]
	if s == nil {
		s = &spent{since: now}
		t.spent[r.payer()] = s
	}
	s.last = r
	if s.written == perHour {
		s.extra++
		return false
	}
	s.written++
	return true
}

// over returns a record for each hour that is over and in which records were left out.
func (t *Trail) over() []Record {
	now := time.Now()
	return t.counted(func(s *spent) bool { return now.Sub(s.since) >= hour })
}

// counted forgets the payers for which ended is true and returns their counts.
func (t *Trail) counted(ended func(*spent) bool) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Record
	for who, s := range t.spent {
		if !ended(s) {
			continue
		}
		delete(t.spent, who)
		if s.extra > 0 {
			left := Record{Verb: LeftOut, By: s.last.By, ByID: s.last.ByID, Peer: s.last.Peer, SessionID: who.session}
			left.Detail = fmt.Sprintf("%d more records in the hour from %s, the last one %s", s.extra, s.since.UTC().Format(time.RFC3339), s.last.Verb)
			list = append(list, left)
		}
	}
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(strings.Compare(a.ByID, b.ByID), strings.Compare(a.SessionID, b.SessionID))
	})
	return list
}

// write writes records under the lock that keeps other processes out.
func (t *Trail) write(list []Record) (err error) {
	if len(list) == 0 {
		return nil
	}
	lock := flock.New(filepath.Join(t.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock audit trail: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	last, err := t.last()
	if err != nil {
		return fmt.Errorf("read audit trail: %w", err)
	}
	for _, r := range list {
		last++
		r.Seq, r.Time = last, time.Now().UTC().Truncate(time.Millisecond)
		s := files()[1]
		if r.Verb.grants() {
			s = files()[0]
		}
		if err := t.append(s, r); err != nil {
			return err
		}
	}
	return nil
}

// append writes a record to the end of a series.
func (t *Trail) append(s series, r Record) (err error) {
	path := filepath.Join(t.dir, s.name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open audit trail: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, torn, size, err := end(f)
	if err != nil {
		return fmt.Errorf("read audit trail: %w", err)
	}
	line, err := encode(r)
	if err != nil {
		return err
	}
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("write audit trail: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync audit trail: %w", err)
	}
	if size+int64(len(line)) < maxFile {
		return nil
	}
	if err := os.Rename(path, filepath.Join(t.dir, s.previous)); err != nil {
		return fmt.Errorf("begin a new audit file: %w", err)
	}
	return nil
}

// After returns at most limit records whose seq is greater, oldest first. Before, it
// writes the numbers of records that were left out in hours that are over.
func (t *Trail) After(seq int64, limit int) ([]Record, error) {
	if t == nil {
		return []Record{}, nil
	}
	if err := t.write(t.over()); err != nil {
		return nil, err
	}
	// Renamed between the two, a file would be missed. Under the lock it is not.
	lock := flock.New(filepath.Join(t.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.RLock(); err != nil {
		return nil, fmt.Errorf("lock audit trail: %w", err)
	}
	defer lock.Close()
	records := []Record{}
	for _, s := range files() {
		found := 0
		for _, name := range []string{s.previous, s.name} {
			list, err := t.after(name, seq, limit-found)
			if err != nil {
				return nil, fmt.Errorf("read audit trail: %w", err)
			}
			records, found = append(records, list...), found+len(list)
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return records[:min(limit, len(records))], nil
}

// after returns at most limit records of one file.
func (t *Trail) after(name string, seq int64, limit int) (records []Record, err error) {
	f, err := os.Open(filepath.Join(t.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxFile)
	for len(records) < limit && lines.Scan() {
		var r Record
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Seq > seq {
			records = append(records, r)
		}
	}
	return records, lines.Err()
}

// last is the greatest seq of all files.
func (t *Trail) last() (last int64, err error) {
	for _, s := range files() {
		for _, name := range []string{s.previous, s.name} {
			seq, err := t.lastOf(name)
			if err != nil {
				return 0, err
			}
			last = max(last, seq)
		}
	}
	return last, nil
}

func (t *Trail) lastOf(name string) (int64, error) {
	f, err := os.Open(filepath.Join(t.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	last, _, _, err := end(f)
	return last, err
}

// end reads a file's last whole record, and whether its last line was cut off.
func end(f *os.File) (seq int64, torn bool, size int64, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, false, 0, err
	}
	size = info.Size()
	tail := make([]byte, min(size, 2*maxLine))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, 0, err
	}
	torn = tail[len(tail)-1] != '\n'
	for line := range bytes.SplitSeq(tail, []byte{'\n'}) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			seq = max(seq, r.Seq)
		}
	}
	return seq, torn, size, nil
}

func encode(r Record) ([]byte, error) {
	for _, text := range []*string{&r.By, &r.ByID, &r.Peer, &r.SessionID} {
		*text = cut(*text, maxText)
	}
	r.Detail = cut(r.Detail, maxDetail)
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode audit record: %w", err)
	}
	return append(line, '\n'), nil
}

// cut returns the first n bytes of a text, or fewer: no character is cut in two.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
