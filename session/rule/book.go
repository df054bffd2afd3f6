package rule

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/abidehub/abide/internal/jsonfile"
	"github.com/abidehub/abide/session/state"
)

// rulesFile stores the rules of agents, which apply to several sessions, among the
// hub's small files: {"format":1,"rules":[…]}.
const rulesFile = "rules.json"

// Book holds the rules of agents. It is safe for concurrent use.
type Book struct {
	files   jsonfile.Files
	current atomic.Pointer[[]state.Rule]
	saving  sync.Mutex // one save at a time; readers never wait for it
}

type bookFile struct {
	Format int          `json:"format"`
	Rules  []state.Rule `json:"rules"`
}

// Open reads the rules among a hub's small files. An invalid file is an error,
// because reject rules must not be lost silently.
func Open(files jsonfile.Files) (*Book, error) {
	b := &Book{files: files}
	b.current.Store(&[]state.Rule{})
	f, _, err := b.file().Read()
	if err != nil {
		return nil, fmt.Errorf("read permission rules: %w", err)
	}
	b.current.Store(&f.Rules)
	return b, nil
}

func (b *Book) file() jsonfile.File[bookFile] {
	return jsonfile.File[bookFile]{
		Files: b.files, Name: rulesFile, Damage: jsonfile.Refuse, Remedy: "repair it or remove it from the data directory", Indent: true,
		Check: func(f bookFile) error { return jsonfile.Format(f.Format, 1) },
	}
}

// All lists the rules. The slice is shared and must not be changed.
func (b *Book) All() []state.Rule { return *b.current.Load() }

// Add adds a rule once it is on the device.
func (b *Book) Add(r state.Rule) error {
	return b.change(func(rules []state.Rule) []state.Rule { return append(rules, r) })
}

// Remove removes a rule once that is on the device. An unknown id changes nothing.
func (b *Book) Remove(id string) error {
	return b.change(func(rules []state.Rule) []state.Rule {
		return slices.DeleteFunc(rules, func(r state.Rule) bool { return r.ID == id })
	})
}

func (b *Book) change(fn func([]state.Rule) []state.Rule) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	next := fn(slices.Clone(b.All()))
	if err := b.file().Write(bookFile{Format: 1, Rules: next}); err != nil {
		return fmt.Errorf("%w: permission rules could not be saved: %w", state.ErrUnavailable, err)
	}
	b.current.Store(&next)
	return nil
}
