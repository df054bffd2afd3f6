package usage_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/usage"
)

// tape is a log of a test.
type tape struct {
	t      *testing.T
	at     time.Time
	turn   int
	events []event.Event
}

func newTape(t *testing.T) *tape {
	return &tape{t: t, at: time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC)}
}

func (l *tape) add(list ...event.Payload) *tape {
	l.t.Helper()
	for _, p := range list {
		if _, ok := p.(event.UserPrompt); ok {
			l.turn++
		}
		data, err := json.Marshal(p)
		require.NoError(l.t, err)
		l.at = l.at.Add(time.Second)
		l.events = append(l.events, event.Event{Seq: event.Seq(len(l.events) + 1), Time: l.at, Type: p.EventType(), Turn: l.turn, Data: data})
	}
	return l
}

func (l *tape) fold() *usage.Fold {
	f := usage.NewFold("0123456789abcdef")
	for _, e := range l.events {
		f.Take(e)
	}
	return f
}

func (l *tape) counted() []usage.Turn { return l.fold().Counted() }

// totals are the tokens of each turn.
func (l *tape) totals() (all []int64) {
	for _, one := range l.counted() {
		all = append(all, one.Tokens.Total)
	}
	return all
}

func prompt() event.Payload { return event.UserPrompt{PromptID: "p", Text: "do it"} }
func call() event.Payload   { return event.ToolCall{} }
func context(used int64) event.Payload {
	return event.Usage{Used: used, Size: 200_000}
}

func costs(amount float64, currency string) event.Payload {
	return event.Usage{Used: 10, Cost: &event.Cost{Amount: amount, Currency: currency}}
}

func end(input, output int64) event.Payload {
	return event.TurnEnd{StopReason: event.StopEndTurn, Usage: json.RawMessage(fmt.Sprintf(`{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}`, input, output, input+output))}
}

// recorded are the payloads of a recorded trace of an agent, without prompts.
func recorded(t *testing.T, file string) (list []event.Payload) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		p, err := e.Payload()
		require.NoError(t, err)
		list = append(list, p)
	}
	return list
}

func tracesOf(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../acp/testdata/traces/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// The tokens and the cost of every recorded trace are those that its agent says.
func TestWhatATraceUsedIsWhatItsAgentSays(t *testing.T) {
	reported, priced := 0, 0
	for _, file := range tracesOf(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			log := newTape(t)
			var want event.Tokens
			var cost float64
			turns, unreported, calls, open := 0, 0, 0, false
			for _, p := range recorded(t, file) {
				switch p := p.(type) {
				case event.AgentStarted:
					log.add(p)
					continue
				case event.Usage:
					if p.Cost != nil {
						cost = p.Cost.Amount
						priced++
					}
				case event.TurnEnd:
					var quota struct {
						Meta struct {
							Quota struct {
								Count *struct{ TotalTokens int64 } `json:"token_count"`
							} `json:"quota"`
						} `json:"_meta"`
					}
					said, ok := event.TokensOf(p.Usage)
					if ok {
						reported++
						want = want.Plus(said)
						require.NoError(t, json.Unmarshal(orEmpty(p.Raw), &quota))
						if c := quota.Meta.Quota.Count; c != nil {
							require.Equal(t, c.TotalTokens, said.Total, "the agent says it in two places")
						}
					} else {
						unreported++
					}
				}
				if !open {
					log.add(prompt())
					turns, open = turns+1, true
				}
				if _, ok := p.(event.ToolCall); ok {
					calls++
				}
				log.add(p)
				if _, ok := p.(event.TurnEnd); ok {
					open = false
				}
			}
			var sum usage.Sum
			for _, one := range log.counted() {
				sum.Add(one.Sum)
			}
			require.Equal(t, want, sum.Tokens)
			require.Equal(t, turns, sum.Turns)
			require.Equal(t, calls, sum.Calls)
			if !open {
				require.Equal(t, unreported, sum.Unreported)
			}
			if cost > 0 {
				require.Equal(t, []event.Cost{{Amount: cost, Currency: "USD"}}, sum.Costs)
			}
		})
	}
	require.Greater(t, reported, 10, "traces with an account of tokens")
	require.Positive(t, priced, "traces with a cost")
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// Each trace that has contexts and an account is played as four turns: by an agent that
// counts each turn, and by one that counts all of them. Both used the same.
func TestAnAgentThatCountsAllTurnsIsToldByTheTrace(t *testing.T) {
	tried := 0
	for _, file := range tracesOf(t) {
		list := recorded(t, file)
		var account event.Tokens
		told, ends := false, 0
		for _, p := range list {
			switch p := p.(type) {
			case event.Usage:
				told = true
			case event.TurnEnd:
				account, _ = event.TokensOf(p.Usage)
				ends++
			}
		}
		if !told || ends != 1 || account.Total == 0 {
			continue
		}
		tried++
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := []int64{account.Total, account.Total, account.Total, account.Total}
			require.Equal(t, want, fourTurns(t, list, account, false).totals())
			require.Equal(t, want, fourTurns(t, list, account, true).totals())
		})
	}
	require.GreaterOrEqual(t, tried, 3)
}

// fourTurns plays a trace four times.
func fourTurns(t *testing.T, list []event.Payload, account event.Tokens, cumulative bool) *tape {
	log := newTape(t)
	for turn := range int64(4) {
		begun := false
		for _, p := range list {
			if _, ok := p.(event.AgentStarted); ok {
				if turn == 0 {
					log.add(p)
				}
				continue
			}
			if !begun {
				log.add(prompt())
				begun = true
			}
			if e, ok := p.(event.TurnEnd); ok && cumulative {
				n := turn + 1
				e.Usage, _ = json.Marshal(event.Tokens{Input: account.Input * n, Output: account.Output * n, Read: account.Read * n, Write: account.Write * n, Total: account.Total * n})
				p = e
			}
			log.add(p)
		}
	}
	return log
}

// The accounts of an agent that counts each turn grow with its context, which is no proof
// that it counts all turns.
func TestAGrowingContextIsNoProof(t *testing.T) {
	log := newTape(t).add(event.AgentStarted{Agent: "demo", AgentSessionID: "a"})
	for i := range int64(10) {
		log.add(prompt(), call(), context(1000+i*500), end(2*(900+i*500), 100+i), prompt(), end(100_000+i, 1000+i))
	}
	for i, one := range log.counted() {
		require.Positive(t, one.Tokens.Total)
		if i%2 == 0 {
			require.Equal(t, 2*(900+int64(i/2)*500)+100+int64(i/2), one.Tokens.Total)
		}
	}
}

func TestAnAccountThatFellIsNoSumOfAllTurns(t *testing.T) {
	log := newTape(t).add(event.AgentStarted{Agent: "demo", AgentSessionID: "a"},
		prompt(), context(1000), end(900, 100), prompt(), context(1000), end(1800, 200))
	require.Equal(t, []int64{1000, 1000}, log.totals())
	log.add(prompt(), context(1000), end(900, 50))
	require.Equal(t, []int64{1000, 2000, 950}, log.totals())
}

// An agent that counts all turns continues after a restart, or begins at 0.
func TestACounterAfterARestart(t *testing.T) {
	begun := func() *tape {
		return newTape(t).add(event.AgentStarted{Agent: "demo", AgentSessionID: "a"},
			prompt(), context(1000), end(900, 100), prompt(), context(1000), end(1800, 200),
			event.AgentStarted{Agent: "demo", AgentSessionID: "a", Resumed: event.ResumedByLoad})
	}
	require.Equal(t, []int64{1000, 1000, 1000}, begun().add(prompt(), context(1000), end(2700, 300)).totals(), "on")
	require.Equal(t, []int64{1000, 1000, 1000, 1000}, begun().add(prompt(), context(1000), end(900, 100), prompt(), context(1000), end(1800, 200)).totals(), "anew")
	other := begun().add(event.AgentStarted{Agent: "other", AgentSessionID: "b"}, prompt(), end(50, 5))
	require.Equal(t, []int64{1000, 1000, 55}, other.totals())
	counted := other.counted()
	require.Equal(t, "demo", counted[0].Agent)
	require.Equal(t, "other", counted[2].Agent)
}

func TestCostIsWhatTheSessionCostsMoreThanBefore(t *testing.T) {
	log := newTape(t).add(event.AgentStarted{Agent: "demo", AgentSessionID: "a"},
		prompt(), costs(0.5, "USD"), costs(0.75, "USD"), end(1, 1),
		prompt(), costs(1, "USD"), costs(3, "EUR"), end(1, 1),
		event.AgentStarted{Agent: "demo", AgentSessionID: "a"},
		prompt(), costs(0.25, "USD"), end(1, 1),
		event.AgentStarted{Agent: "demo", AgentSessionID: "b"},
		prompt(), costs(2, "USD"), end(1, 1))
	var got [][]event.Cost
	var sum usage.Sum
	for _, one := range log.counted() {
		got = append(got, one.Costs)
		sum.Add(one.Sum)
	}
	require.Equal(t, [][]event.Cost{{{Amount: 0.75, Currency: "USD"}}, {{Amount: 3, Currency: "EUR"}, {Amount: 0.25, Currency: "USD"}}, {{Amount: 0.25, Currency: "USD"}}, {{Amount: 2, Currency: "USD"}}}, got)
	require.Equal(t, []event.Cost{{Amount: 3, Currency: "EUR"}, {Amount: 3.25, Currency: "USD"}}, sum.Costs)
}

func TestATurnWithoutAnAccountIsUnreported(t *testing.T) {
	log := newTape(t).add(prompt(), context(500), event.TurnEnd{StopReason: event.StopEndTurn}, prompt(), call(), end(10, 1), prompt(), context(5))
	all := log.counted()
	require.Len(t, all, 3)
	require.Equal(t, 1, all[0].Unreported)
	require.Zero(t, all[0].Tokens)
	require.Equal(t, int64(2000), all[0].MS)
	require.Equal(t, 1, all[1].Calls)
	require.Zero(t, all[1].Unreported)
	require.Zero(t, all[2].Unreported, "it is not over")
}

func TestAStrangeAccountCountsNothing(t *testing.T) {
	for _, text := range []string{`null`, `[]`, `"x"`, `{"totalTokens":"many"}`, `{"totalTokens":-5,"inputTokens":-7}`, `{}`, `{"totalTokens":1e99}`, `{"totalTokens":9223372036854775807}`, `{"inputTokens":1000000000001}`} {
		log := newTape(t).add(prompt(), event.TurnEnd{Usage: json.RawMessage(text)})
		require.Zero(t, log.counted()[0].Tokens, text)
	}
	said, ok := event.TokensOf(json.RawMessage(`{"inputTokens":5,"outputTokens":3,"cachedReadTokens":100,"cachedWriteTokens":10}`))
	require.True(t, ok)
	require.Equal(t, int64(118), said.Total)
}

// What no agent can have spent counts as nothing said, and the sum stays a number.
func TestAStrangeCostCountsNothing(t *testing.T) {
	strange := []event.Cost{
		{Amount: math.MaxFloat64, Currency: "USD"}, {Amount: -1, Currency: "USD"}, {Amount: event.MostCost + 1, Currency: "USD"},
		{Amount: 3, Currency: "usd"}, {Amount: 3, Currency: ""}, {Amount: 3, Currency: "EURO"}, {Amount: 3, Currency: "€"}, {Amount: 3, Currency: "<b>"},
	}
	for _, c := range strange {
		log := newTape(t).add(prompt(), costs(2, "USD"), costs(c.Amount, c.Currency), costs(3, "USD"))
		require.Equal(t, []event.Cost{{Amount: 3, Currency: "USD"}}, log.counted()[0].Costs, c)
	}
	nan := event.Cost{Amount: math.NaN(), Currency: "USD"}
	require.False(t, nan.Counts())

	most := newTape(t)
	for range 50 {
		most.add(prompt(), costs(event.MostCost, "USD"), costs(0, "USD"), context(math.MaxInt64), call(), end(event.MostTokens, 0))
	}
	var sum usage.Sum
	for _, one := range most.counted() {
		sum.Add(one.Sum)
	}
	require.Equal(t, 50*int64(event.MostTokens), sum.Tokens.Total)
	_, err := json.Marshal(sum)
	require.NoError(t, err)
}

// A stored fold is read as it was written, and of nothing else.
func TestAStoredFoldSaysEverything(t *testing.T) {
	for _, file := range tracesOf(t) {
		log := newTape(t).add(prompt())
		log.add(recorded(t, file)...)
		log.add(prompt(), costs(7, "USD"))
		f := log.fold()
		data, err := f.Encode()
		require.NoError(t, err)
		again, ok := usage.ReadFold(data, "0123456789abcdef")
		require.True(t, ok)
		require.Equal(t, f, again)
		_, ok = usage.ReadFold(data, "fedcba9876543210")
		require.False(t, ok, "of another epoch")
		_, ok = usage.ReadFold(data[:len(data)-1], "0123456789abcdef")
		require.False(t, ok)
	}
	for _, text := range []string{"", "null", "{}", "[]", `{"format":2,"epoch":"0123456789abcdef","turns":[null]}`, `{"format":2,"epoch":"0123456789abcdef","counters":[null]}`, `{"format":2,"epoch":"0123456789abcdef","turns":[{"counter":3}]}`, `{"format":0,"epoch":"0123456789abcdef"}`} {
		_, ok := usage.ReadFold([]byte(text), "0123456789abcdef")
		require.False(t, ok, text)
	}
}
