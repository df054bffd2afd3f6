package session

import (
	"github.com/abidehub/abide/session/index"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/search"
	"github.com/abidehub/abide/session/state"
)

// openSearch makes the search, with its index if there is a directory for it.
func (m *Manager) openSearch(o Options) {
	options := search.Options{
		Store: o.Store, Patience: o.SearchPatience, Logger: m.logger,
		Lifecycle: func(md journal.Metadata) state.Lifecycle { return m.listed(md).Lifecycle },
	}
	if o.IndexDir != "" {
		m.index = index.New(index.Options{Store: o.Store, Dir: o.IndexDir, Logger: m.logger})
		options.Index = m.index
	}
	m.search = search.NewSessions(options)
}

// Search finds text in the sessions. It opens none.
func (m *Manager) Search() *search.Sessions { return m.search }

// IndexProgress returns how far the search index is; nil if there is none.
func (m *Manager) IndexProgress() *index.Progress {
	if m.index == nil {
		return nil
	}
	p := m.index.Progress()
	return &p
}
