package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/abidehub/abide/session/event"
)

// author writes the texts of many sessions: words as often as in a language, and names of
// files, commands and identifiers. The same seed writes the same.
type author struct {
	*rand.Rand
	zipf  *rand.Zipf
	words []string
}

// vocabulary is how many words an author knows.
const vocabulary = 60_000

func newAuthor(seed uint64) *author {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 1))}
	a.zipf = rand.NewZipf(a.Rand, 1.1, 8, vocabulary-1)
	syllables := strings.Fields("ab an ar be ca co de do el en er fi fo ga ho in is ka la le ma mi no on or pa pre re ro sa se sta su ta te ti to tra un ve wi")
	seen := map[string]bool{}
	for len(a.words) < vocabulary {
		var word strings.Builder
		for range 1 + min(4, len(a.words)/400+a.IntN(3)) {
			word.WriteString(syllables[a.IntN(len(syllables))])
		}
		if w := word.String(); !seen[w] {
			seen[w] = true
			a.words = append(a.words, w)
		} else if len(a.words) < 400 {
			a.words = append(a.words, w+string(rune('a'+a.IntN(26))))
		}
	}
	return a
}

func (a *author) word() string { return a.words[a.zipf.Uint64()] }

// says returns so many words.
func (a *author) says(n int) string {
	var text strings.Builder
	for i := range n {
		if i > 0 {
			text.WriteByte(' ')
		}
		if a.IntN(40) == 0 {
			text.WriteByte('`')
			text.WriteString(a.name())
			text.WriteByte('`')
			continue
		}
		text.WriteString(a.word())
		if a.IntN(12) == 0 {
			text.WriteByte('.')
		}
	}
	return text.String()
}

func (a *author) name() string { return fmt.Sprintf("%s/%s_%d.go", a.word(), a.word(), a.IntN(100)) }

// turn is one turn of n events, at least 5: a prompt, tools between pieces of messages, and
// its end.
func (a *author) turn(number, n int) []event.Payload {
	prompt := promptID(number)
	all := []event.Payload{event.UserPrompt{PromptID: prompt, Text: event.Text(a.says(5 + a.IntN(40)))}, event.TurnStart{PromptID: prompt}}
	for message := 0; len(all) < n-1; message++ {
		for range min(n-1-len(all), 4+a.IntN(12)) {
			all = append(all, event.AgentMessage{MessageID: fmt.Sprintf("m-%d-%d", number, message), Text: event.Text(a.says(4+a.IntN(10)) + " ")})
		}
		if len(all)+2 >= n {
			continue
		}
		input, err := json.Marshal(map[string]string{"command": fmt.Sprintf("grep -rn %s %s", a.word(), a.name())})
		if err != nil {
			panic(err) // strings can be encoded
		}
		id := fmt.Sprintf("t-%d-%d", number, message)
		all = append(all,
			event.ToolCall{ToolCallFields: event.ToolCallFields{ToolCallID: id, Title: "Search " + a.name(), RawInput: input}},
			event.ToolCallUpdate{ToolCallFields: event.ToolCallFields{ToolCallID: id, RawOutput: json.RawMessage(fmt.Sprintf("%q", a.says(80)))}})
	}
	return append(all, event.TurnEnd{PromptID: prompt, StopReason: event.StopEndTurn})
}
