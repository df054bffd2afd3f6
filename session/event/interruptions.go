package event

// InterruptionCounts counts a session's interrupted turns and their outcomes. A value
// is never changed: its maps and slices may be kept.
type InterruptionCounts struct {
	Interrupted map[TurnPhase]int `json:"interrupted,omitempty"`
	// Resumed counts by phase, then by way.
	Resumed    map[TurnPhase]map[ResumeWay]int `json:"resumed,omitempty"`
	Dismissed  int                             `json:"dismissed,omitempty"`
	Superseded int                             `json:"superseded,omitempty"`
	// Succeeded counts resumed turns that the agent ended, Failed those that were
	// interrupted again. A cancelled one, and one that waits for a choice, are neither.
	Succeeded int `json:"succeeded,omitempty"`
	Failed    int `json:"failed,omitempty"`
	// WaitsMS are the times from the last event of an interrupted turn to its resume, at
	// most 32, the newest last.
	WaitsMS []int64 `json:"waits_ms,omitempty"`
}
