package event

import "encoding/json"

// MostTokens and MostCost bound one number that an agent says about itself. A larger one is a
// fault of the agent, and counts as nothing said: sums of what is within them do not overflow.
const (
	MostTokens = 1_000_000_000_000
	MostCost   = 1_000_000_000.0
)

// Tokens is an agent's account of its model's tokens, as it comes with the end of a turn.
// Whether it is of that turn, or of all turns so far, differs between agents.
type Tokens struct {
	Input  int64 `json:"inputTokens,omitempty"`
	Output int64 `json:"outputTokens,omitempty"`
	// Read and Write are those that the provider had in its cache, and put into it. They are
	// not among Input.
	Read  int64 `json:"cachedReadTokens,omitempty"`
	Write int64 `json:"cachedWriteTokens,omitempty"`
	// Total is the agent's own sum, or ours where it gives none.
	Total int64 `json:"totalTokens,omitempty"`
}

// TokensOf reads the usage of a turn_end. It reports false where the agent gave none, or
// one of an unknown form or a number above MostTokens. Numbers below 0 count as 0.
func TokensOf(usage json.RawMessage) (t Tokens, said bool) {
	if len(usage) == 0 || json.Unmarshal(usage, &t) != nil {
		return Tokens{}, false
	}
	for _, n := range []*int64{&t.Input, &t.Output, &t.Read, &t.Write, &t.Total} {
		if *n > MostTokens {
			return Tokens{}, false
		}
		*n = max(0, *n)
	}
	if t.Total == 0 {
		t.Total = t.Input + t.Output + t.Read + t.Write
	}
	return t, string(usage) != "null"
}

// Plus adds two accounts.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Output + o.Output, t.Read + o.Read, t.Write + o.Write, t.Total + o.Total}
}

// Since is what came after an earlier account of the same counter.
func (t Tokens) Since(o Tokens) Tokens {
	return Tokens{t.Input - o.Input, t.Output - o.Output, t.Read - o.Read, t.Write - o.Write, t.Total - o.Total}
}

// Below reports whether any of its numbers is smaller than the other's.
func (t Tokens) Below(o Tokens) bool {
	return t.Input < o.Input || t.Output < o.Output || t.Read < o.Read || t.Write < o.Write || t.Total < o.Total
}
