package session

import (
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

// Offered returns the modes and models that an agent offers, according to the session of
// it that is open and was changed last. They are nil if no open session knows.
func (m *Manager) Offered(agent string) (modes, models []event.ModeOption) {
	var newest time.Time
	for _, b := range m.opened() {
		s := b.State()
		at := b.log.Metadata().UpdatedAt
		if s.Agent.Name != agent || s.Mode == nil && s.Config == nil || at.Before(newest) {
			continue
		}
		newest, modes, models = at, nil, nil
		if s.Mode != nil {
			modes = s.Mode.Modes
		}
		if s.Config == nil {
			continue
		}
		for _, option := range state.OptionsOf(s.Config.Options) {
			if option.Category == state.FieldModel && models == nil {
				models = transcript.Choices(option.Choices)
			}
		}
	}
	return modes, models
}
