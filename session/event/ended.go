package event

import "strings"

// Words says for a person on one line how the turn ended, with the reason where one is known. cut is why the turn was
// interrupted; empty if it was not.
func (p TurnEnd) Words(cut InterruptReason) string {
	reason := ""
	if p.Error != nil {
		reason = strings.Join(strings.Fields(p.Error.Message), " ")
	}
	switch {
	case cut == CutAgentExit && reason != "":
		return "Interrupted: " + reason
	case cut == CutCancelled: // its reason is those words
		return cut.Words()
	case cut != "":
		return strings.TrimSpace(cut.Words() + " " + reason)
	case reason != "" && (p.StopReason == StopInterrupted || p.StopReason == StopAgentExit):
		return "the turn failed: " + reason
	case reason != "":
		reason = ": " + reason
	}
	return "the turn ended: " + strings.ReplaceAll(string(p.StopReason), "_", " ") + reason
}
