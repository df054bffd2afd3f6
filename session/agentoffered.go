package session

import (
	"context"
	"time"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/journal"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/transcript"
)

const (
	// offeredAmong is among how many of the newest sessions those of an agent are looked
	// for, and offeredTries how many of them are opened: some never began.
	offeredAmong, offeredTries = 1000, 3
)

// Offered returns the modes and models that an agent offers, according to the session of
// it that is open and was changed last. If no open session knows, the newest ones of the
// agent are opened, as long as ctx lasts: those that are not open by then are so for the
// next call. They are nil if these do not know either.
func (m *Manager) Offered(ctx context.Context, agent string) (modes, models []event.ModeOption) {
	if modes, models = m.offeredByOpen(agent); modes != nil || models != nil {
		return modes, models
	}
	among, tries := offeredAmong, offeredTries
	for meta := range m.journal.Newest(journal.Place{}) {
		if among--; among < 0 || tries == 0 || ctx.Err() != nil {
			break
		}
		if meta.Agent != agent || meta.Imported {
			continue
		}
		tries--
		if _, err := m.Session(ctx, meta.SessionID); err != nil {
			continue // it is listed in Problems
		}
		if modes, models = m.offeredByOpen(agent); modes != nil || models != nil {
			break
		}
	}
	return modes, models
}

// OfferedOptions returns the options of an agent according to the session of it that is open
// and was changed last; nil if no open session knows them.
func (m *Manager) OfferedOptions(agent string) (options []state.AgentOption) {
	var newest time.Time
	for _, b := range m.opened() {
		s := b.State()
		at := b.log.Metadata().UpdatedAt
		if s.Agent.Name == agent && s.Config != nil && !at.Before(newest) {
			newest, options = at, state.OptionsOf(s.Config.Options)
		}
	}
	return options
}

func (m *Manager) offeredByOpen(agent string) (modes, models []event.ModeOption) {
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
