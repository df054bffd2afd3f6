package session

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/state"
)

// rulesFile stores the rules of agents, which apply to several sessions, in the
// data directory: {"format":1,"rules":[…]}.
const rulesFile = "rules.json"

// ruleBook holds the rules of agents. A session's own rules are in its log.
type ruleBook struct {
	path    string
	current atomic.Pointer[[]state.Rule]
	saving  sync.Mutex // one save at a time; readers never wait for it
}

type ruleBookFile struct {
	Format int          `json:"format"`
	Rules  []state.Rule `json:"rules"`
}

// openRuleBook reads the rules of a data directory. An invalid file is an error,
// because reject rules must not be lost silently.
func openRuleBook(dir string) (*ruleBook, error) {
	b := &ruleBook{path: filepath.Join(dir, rulesFile)}
	b.current.Store(&[]state.Rule{})
	f, _, err := b.file().Read()
	if err != nil {
		return nil, fmt.Errorf("read permission rules: %w", err)
	}
	b.current.Store(&f.Rules)
	return b, nil
}

func (b *ruleBook) file() jsonfile.File[ruleBookFile] {
	return jsonfile.File[ruleBookFile]{
		Path: b.path, Damage: jsonfile.Refuse, Remedy: "repair " + b.path + " or remove it", Indent: true,
		Check: func(f ruleBookFile) error { return jsonfile.Format(f.Format, 1) },
	}
}

// all lists the rules. The slice is shared and must not be changed.
func (b *ruleBook) all() []state.Rule { return *b.current.Load() }

// add adds a rule once it is on the device.
func (b *ruleBook) add(r state.Rule) error {
	return b.change(func(rules []state.Rule) []state.Rule { return append(rules, r) })
}

func (b *ruleBook) remove(id string) error {
	return b.change(func(rules []state.Rule) []state.Rule {
		return slices.DeleteFunc(rules, func(r state.Rule) bool { return r.ID == id })
	})
}

func (b *ruleBook) change(fn func([]state.Rule) []state.Rule) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	next := fn(slices.Clone(b.all()))
	if err := b.file().Write(ruleBookFile{Format: 1, Rules: next}); err != nil {
		return fmt.Errorf("%w: permission rules could not be saved: %w", state.ErrUnavailable, err)
	}
	b.current.Store(&next)
	return nil
}

// newRuleID returns 64 random bits in hex.
func newRuleID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}
