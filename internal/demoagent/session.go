package demoagent

import (
	"cmp"
	"encoding/json"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// session is one conversation. One prompt at a time works on it.
type session struct {
	id        sdk.SessionId
	workspace string

	// playing is held by the turn at work, which owns the fields below.
	playing  sync.Mutex
	scratch  scratch
	turns    int // of this run of the agent
	messages int
	tools    int
	used     int // pretended tokens
	kept     int // bytes of it in the archive

	// settings may change during a turn.
	mu      sync.Mutex
	mode    sdk.SessionModeId        // guarded by mu
	model   sdk.SessionConfigValueId // guarded by mu
	verbose bool                     // guarded by mu
	// modeOption offers the modes as an option, too.
	modeOption bool
	// grouped offers the models in groups.
	grouped bool
	updates []json.RawMessage // guarded by mu: of this turn, for the archive
}

func newSession(id sdk.SessionId, workspace string, o Options) *session {
	return &session{
		id: id, workspace: workspace, mode: sdk.SessionModeId(cmp.Or(o.Mode, "ask")),
		model: sdk.SessionConfigValueId(cmp.Or(o.Model, "steady")), verbose: o.Verbose, modeOption: o.ModeOption, grouped: o.Grouped,
	}
}

// modes are the ways of working: in auto nothing is asked.
func (s *session) modes() *sdk.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sdk.SessionModeState{CurrentModeId: s.mode, AvailableModes: []sdk.SessionMode{
		{Id: "ask", Name: "Ask", Description: sdk.Ptr("Ask before every change")},
		{Id: "auto", Name: "Auto", Description: sdk.Ptr("Change the scratch copy without asking")},
	}}
}

// options are the session's settings.
func (s *session) options() []sdk.SessionConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	model := sdk.SessionConfigOptionCategoryModel
	values := sdk.SessionConfigSelectOptionsUngrouped{
		{Value: "steady", Name: "Steady", Description: sdk.Ptr("Takes its time")},
		{Value: "hasty", Name: "Hasty", Description: sdk.Ptr("Four times as fast")},
	}
	models := sdk.SessionConfigSelectOptions{Ungrouped: &values}
	if s.grouped {
		models = sdk.SessionConfigSelectOptions{Grouped: &sdk.SessionConfigSelectOptionsGrouped{
			{Group: "careful", Name: "Careful", Options: values[:1]}, {Group: "quick", Name: "Quick", Options: values[1:]},
		}}
	}
	list := []sdk.SessionConfigOption{
		{Select: &sdk.SessionConfigOptionSelect{
			Id: "model", Name: "Model", Category: &model, Type: "select", CurrentValue: s.model,
			Options: models,
		}},
		{Boolean: &sdk.SessionConfigOptionBoolean{
			Id: "verbose", Name: "Verbose", Description: sdk.Ptr("Say what is done"), Type: "boolean", CurrentValue: s.verbose,
		}},
	}
	if s.modeOption {
		mode := sdk.SessionConfigOptionCategoryMode
		modes := sdk.SessionConfigSelectOptionsUngrouped{{Value: "ask", Name: "Ask"}, {Value: "auto", Name: "Auto"}}
		list = append(list, sdk.SessionConfigOption{Select: &sdk.SessionConfigOptionSelect{
			Id: "how", Name: "Mode", Category: &mode, Type: "select", CurrentValue: sdk.SessionConfigValueId(s.mode),
			Options: sdk.SessionConfigSelectOptions{Ungrouped: &modes},
		}})
	}
	return list
}

func (s *session) asks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode != "auto"
}

// haste is how much faster than its options the session plays.
func (s *session) haste() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.model == "hasty" {
		return 4
	}
	return 1
}

// keep remembers an update until the turn is over.
func (s *session) keep(update json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept += len(update); s.kept <= archiveBytes {
		s.updates = append(s.updates, update)
	}
}

// turnOver returns the updates by which the turn is remembered.
func (s *session) turnOver() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	updates := s.updates
	s.updates = nil
	return updates
}

// continueAfter goes on counting after the kept ids, so that no id occurs twice.
func (s *session) continueAfter(updates []json.RawMessage) {
	s.playing.Lock()
	defer s.playing.Unlock()
	s.messages, s.tools = len(updates), len(updates)
	for _, update := range updates {
		s.kept += len(update)
	}
}
