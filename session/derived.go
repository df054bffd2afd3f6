package session

import "github.com/abidehub/abide/session/behind"

// Derived returns how far what is derived from the logs is behind them: the search index, usage,
// the sizes of sessions, and the snapshots, whose events are not counted. Each is read by a
// goroutine of its own, when it is due. An overview is computed when it is asked for.
func (m *Manager) Derived() []behind.Lag {
	kinds := []behind.Kind{{Name: "usage", At: m.used.At}, {Name: "sizes", At: m.sizes.At}}
	if m.index != nil {
		kinds = append(kinds, behind.Kind{Name: "index", At: m.index.At})
	}
	return append(behind.Lags(m.journal.Owned(), kinds...), behind.Lag{Kind: "snapshots", Sessions: m.hub.snapshots.Waiting()})
}
