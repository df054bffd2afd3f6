package usage

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/abidehub/abide/session/event"
)

// foldFormat changes with anything that a Fold counts otherwise.
const foldFormat = 2

// Fold counts the events of one log. All of it goes to the file that spares reading the log
// from its beginning. One goroutine uses it.
type Fold struct {
	Format int       `json:"format"`
	Epoch  string    `json:"epoch"`
	AtSeq  event.Seq `json:"at_seq"`
	// Open means that the newest turn has no end yet.
	Open bool `json:"open,omitempty"`
	// Peak is the largest context that the agent had in the newest turn, in tokens, and
	// Told how often it told its context there.
	Peak int64 `json:"peak,omitempty"`
	Told int64 `json:"told,omitempty"`
	// Counters are those of the agents' sessions, in their order.
	Counters []*counter `json:"counters,omitempty"`
	Turns    []*turn    `json:"turns"`
}

// counter is what the accounts of one session of an agent say about the way it counts.
type counter struct {
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	// Last is the newest account, and Fresh means that the agent was started after it: it may
	// count from 0 again.
	Last  event.Tokens `json:"last,omitzero"`
	Fresh bool         `json:"fresh,omitempty"`
	// Fell means that an account was below the one before, Beyond that one was above what
	// its turn can have taken.
	Fell   bool `json:"fell,omitempty"`
	Beyond bool `json:"beyond,omitempty"`
	// Costs are the newest costs, by currency.
	Costs map[string]float64 `json:"costs,omitempty"`
}

// turn is one turn as the log has it.
type turn struct {
	Turn int       `json:"turn"`
	At   time.Time `json:"at"`
	MS   int64     `json:"ms,omitempty"`
	// Counter is the index of the agent's counter.
	Counter int `json:"counter"`
	// Said is the account at its end, nil if there is none. Before is that of the turn before.
	Said   *event.Tokens      `json:"said,omitempty"`
	Before event.Tokens       `json:"before,omitzero"`
	Calls  int                `json:"calls,omitempty"`
	Costs  map[string]float64 `json:"costs,omitempty"`
}

// NewFold is the fold of the log with this epoch before its first event.
func NewFold(epoch string) *Fold {
	return &Fold{Format: foldFormat, Epoch: epoch, Turns: []*turn{}}
}

// ReadFold reads the bytes that Encode wrote for the log with this epoch. It reports false
// for anything else.
func ReadFold(data []byte, epoch string) (*Fold, bool) {
	f := &Fold{}
	if json.Unmarshal(data, f) != nil || f.Format != foldFormat || f.Epoch != epoch || f.AtSeq < 0 {
		return nil, false
	}
	if slices.Contains(f.Counters, nil) {
		return nil, false
	}
	for _, t := range f.Turns {
		if t == nil || t.Counter < 0 || t.Counter > 0 && t.Counter >= len(f.Counters) {
			return nil, false
		}
	}
	return f, true
}

// Encode writes the fold down.
func (f *Fold) Encode() ([]byte, error) { return json.Marshal(f) }

// Take folds in the next event. One that was taken before counts nothing.
func (f *Fold) Take(e event.Event) {
	if e.Seq <= f.AtSeq {
		return
	}
	f.AtSeq = e.Seq
	if !counts(e.Type) {
		return
	}
	if e.Type == event.TypeToolCall { // its content need not be decoded
		if t := f.newest(); t != nil && f.Open {
			t.Calls++
		}
		return
	}
	payload, err := e.Payload()
	if err != nil {
		return // an event that cannot be read counts nothing
	}
	switch p := payload.(type) {
	case event.AgentStarted:
		f.start(p)
	case event.UserPrompt:
		if t := f.newest(); t == nil || t.Turn < e.Turn {
			f.Turns = append(f.Turns, &turn{Turn: e.Turn, At: e.Time, Counter: max(0, len(f.Counters)-1)})
			f.Open, f.Peak, f.Told = true, 0, 0
		}
	case event.Usage:
		f.Peak, f.Told = max(f.Peak, p.Context()), f.Told+1
		f.cost(p.Cost)
	case event.TurnEnd:
		f.end(e, p)
	}
}

// counts reports whether events of a kind count. The bulk of a log does not.
func counts(kind event.Type) bool {
	switch kind {
	case event.TypeAgentStarted, event.TypeUserPrompt, event.TypeTurnEnd, event.TypeUsage, event.TypeToolCall:
		return true
	}
	return false
}

// newest is the newest turn, nil before the first.
func (f *Fold) newest() *turn {
	if len(f.Turns) == 0 {
		return nil
	}
	return f.Turns[len(f.Turns)-1]
}

// counter is the one that counts now.
func (f *Fold) counter() *counter {
	if len(f.Counters) == 0 {
		f.Counters = append(f.Counters, &counter{})
	}
	return f.Counters[len(f.Counters)-1]
}

func (f *Fold) start(p event.AgentStarted) {
	if n := len(f.Counters); n > 0 {
		if c := f.Counters[n-1]; c.Agent == p.Agent && c.Session == p.AgentSessionID && c.Session != "" {
			c.Fresh = true
			return
		}
	}
	f.Counters = append(f.Counters, &counter{Agent: p.Agent, Session: p.AgentSessionID})
	if t := f.newest(); t != nil && f.Open {
		t.Counter = len(f.Counters) - 1 // the agent starts for a turn that waits for it
	}
}

// cost adds to the newest turn what a session's cost is more than before.
func (f *Fold) cost(said *event.Cost) {
	t := f.newest()
	if t == nil || !said.Counts() {
		return
	}
	c := f.counter()
	more := said.Amount - c.Costs[said.Currency]
	if more < 0 {
		more = said.Amount
	}
	if c.Costs == nil {
		c.Costs = map[string]float64{}
	}
	c.Costs[said.Currency] = said.Amount
	if more == 0 {
		return
	}
	if t.Costs == nil {
		t.Costs = map[string]float64{}
	}
	t.Costs[said.Currency] += more
}

func (f *Fold) end(e event.Event, p event.TurnEnd) {
	t := f.newest()
	if t == nil || t.Turn != e.Turn || !f.Open {
		return
	}
	f.Open = false
	t.MS = max(0, e.Time.Sub(t.At).Milliseconds())
	said, ok := event.TokensOf(p.Usage)
	if !ok {
		return
	}
	c := f.counter()
	t.Said = &said
	fell := said.Below(c.Last)
	if !fell {
		t.Before = c.Last
	} else if !c.Fresh {
		c.Fell = true
	}
	most, more := max(int64(t.Calls+1), f.Told)*f.Peak, said.Total-c.Last.Total
	if !fell && f.Peak > 0 && said.Total > most && f.Peak <= more && more <= most {
		c.Beyond = true
	}
	c.Last, c.Fresh = said, false
}

// Turn is what one turn used.
type Turn struct {
	// Turn is its number, At when its prompt came, and Agent the agent's configured name,
	// empty if none was started.
	Turn  int
	At    time.Time
	Agent string
	Sum
}

// Counted are the turns so far, oldest first.
func (f *Fold) Counted() []Turn {
	all := make([]Turn, 0, len(f.Turns))
	for i, t := range f.Turns {
		one := Turn{Turn: t.Turn, At: t.At, Sum: Sum{Turns: 1, Calls: t.Calls, MS: t.MS}}
		var c counter
		if t.Counter < len(f.Counters) {
			c = *f.Counters[t.Counter]
		}
		one.Agent = c.Agent
		switch {
		case t.Said == nil:
			if !f.Open || i < len(f.Turns)-1 {
				one.Unreported = 1
			}
		case c.Beyond && !c.Fell:
			one.Tokens = t.Said.Since(t.Before)
		default:
			one.Tokens = *t.Said
		}
		for currency, amount := range t.Costs {
			one.addCost(event.Cost{Amount: amount, Currency: currency})
		}
		all = append(all, one)
	}
	return all
}
