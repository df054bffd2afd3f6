package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/abidehub/abide/session/event"
)

// said is a line as the oracle reads it: fully decoded.
type said struct {
	seq  event.Seq
	key  string // of a message
	text string
}

// understand decodes a line according to docs/storage.md and the package comment.
func understand(line string) (said, bool) {
	var e event.Event
	if json.Unmarshal([]byte(line), &e) != nil {
		return said{}, false
	}
	payload, err := e.Payload()
	if err != nil {
		return said{}, false
	}
	s := said{seq: e.Seq}
	tool := func(title event.Text, input json.RawMessage) {
		s.text = string(title)
		var members map[string]json.RawMessage
		var command event.Text
		if json.Unmarshal(input, &members) == nil && json.Unmarshal(members["command"], &command) == nil && command != "" {
			s.text += "\n" + string(command)
		}
	}
	switch p := payload.(type) {
	case event.UserPrompt:
		s.text = string(p.Text)
	case event.AgentMessage:
		s.text, s.key = string(p.Text), "m"+p.MessageID
	case event.ToolCall:
		tool(event.Text(p.Title), p.RawInput)
	case event.ToolCallUpdate:
		tool(event.Text(p.Title), p.RawInput)
	}
	return s, s.text != ""
}

// spoken is a passage joined by the oracle.
type spoken struct {
	key    string
	text   string
	starts []int // of the events' texts, in runes
	seqs   []event.Seq
}

// listen joins the events of a log into passages.
func listen(log string) (passages []spoken) {
	for _, line := range strings.Split(log, "\n") {
		s, ok := understand(line)
		if !ok {
			continue
		}
		last := len(passages) - 1
		if last < 0 || s.key == "" || passages[last].key != s.key {
			passages = append(passages, spoken{key: s.key})
			last++
		}
		p := &passages[last]
		p.starts, p.seqs = append(p.starts, len(foldedRunes(p.text))), append(p.seqs, s.seq)
		p.text += s.text
	}
	return passages
}

// slowly is the simplest search, newest first.
func slowly(passages []spoken, query string) (seqs []event.Seq) {
	needle := foldedRunes(query)
	for i := len(passages) - 1; i >= 0; i-- {
		p := passages[i]
		at := indexRunes(foldedRunes(p.text), needle)
		if at < 0 {
			continue
		}
		seq := event.Seq(0)
		for n, start := range p.starts {
			if start <= at {
				seq = p.seqs[n]
			}
		}
		seqs = append(seqs, seq)
	}
	return seqs
}

// foldedRunes maps each rune to the smallest rune that differs from it by case only,
// in normal form C and without marks of Markdown.
func foldedRunes(text string) []rune {
	folded := []rune(norm.NFC.String(strings.NewReplacer("*", "", "`", "").Replace(text)))
	for i, r := range folded {
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			folded[i] = min(folded[i], next)
		}
	}
	return folded
}

func indexRunes(in, needle []rune) int {
	for at := 0; at+len(needle) <= len(in); at++ {
		if string(in[at:at+len(needle)]) == string(needle) {
			return at
		}
	}
	return -1
}

// author writes random logs like those of agents, importers and failing disks.
type author struct{ *rand.Rand }

func (a author) pick(from ...string) string { return from[a.IntN(len(from))] }

// words are few, so that a text occurs often, and hard to match.
func (a author) words() string {
	var b strings.Builder
	for range a.IntN(6) {
		b.WriteString(a.pick("ab", "a", "b", "K", "\u212a", "s", "ſ", "ß", "É", "é", "e\u0301", "*", "`", "😀", "\\", `"`, "/", "<", "\u2028", "\t", "\n", "\\u0061", "世", "\ufffd", " "))
	}
	return b.String()
}

// quote encodes a string as JSON in a random way.
func (a author) quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		plain := r >= ' ' && r != '"' && r != '\\'
		switch n := a.IntN(8); {
		case n == 0 && r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case n == 0:
			fmt.Fprintf(&b, a.pick(`\u%04x`, `\u%04X`), r)
		case n == 1 && r == '/':
			b.WriteString(`\/`)
		case plain:
			b.WriteRune(r)
		case r == '\n' && n < 6:
			b.WriteString(`\n`)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if a.IntN(20) == 0 {
		b.WriteString(a.pick(`\ud83d`, `\ude00`)) // half of a surrogate pair
	}
	b.WriteByte('"')
	return b.String()
}

func (a author) input() string {
	return a.pick(
		`null`, `{}`, `7`, `[{"command":`+a.quote(a.words())+`}]`, `"`+"ab"+`"`,
		`{"command":`+a.quote(a.words())+`}`, `{"Command":`+a.quote(a.words())+`}`, `{"c\u006fmmand":`+a.quote(a.words())+`}`,
		`{"command":["ab"],"path":"/a/b"}`, `{"path":{"a":[1,{"b":"]}"}]},"command":`+a.quote(a.words())+`}`,
	)
}

// data encodes a payload with its members in random order and with other members.
func (a author) data(kind string) string {
	members := []string{}
	add := func(name, value string) {
		if a.IntN(5) > 0 {
			members = append(members, `"`+name+`":`+value)
		}
	}
	add("raw", a.pick(`{"text":"ab","title":"ab"}`, `["}\\\"{"]`, `-1.5e3`, `true`))
	switch kind {
	case "agent_message":
		add(a.pick("message_id", "message_id", "Message_ID"), a.pick(`"m"`, `"m"`, `"\u006d"`, `"n"`, `""`))
		add(a.pick("text", "text", "text", "TEXT", `t\u0065xt`), a.pick(a.quote(a.words()), a.quote(a.words()), `null`, `{"blob":{"sha256":"x","bytes":9},"head":`+a.quote(a.words())+`}`))
	case "user_prompt":
		add("prompt_id", `"p"`)
		add("text", a.quote(a.words()))
	default:
		add("tool_call_id", `"t"`)
		add("title", a.quote(a.words()))
		add("raw_input", a.input())
	}
	a.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// query returns a part of the text in another case.
func (a author) query(passages []spoken) string {
	text := []rune(passages[a.IntN(len(passages))].text)
	from := a.IntN(len(text))
	piece := string(text[from:min(len(text), from+1+a.IntN(5))])
	piece, _, _ = strings.Cut(piece, "\n")
	if a.IntN(2) == 0 {
		piece = strings.ToUpper(piece)
	}
	piece = strings.ReplaceAll(strings.TrimSpace(piece), `"`, "")
	if strings.TrimSpace(strings.Trim(piece, "*`")) == "" {
		return ""
	}
	return piece
}

func (a author) log(lines int) string {
	var b strings.Builder
	for seq := 1; seq <= lines; seq++ {
		kind := a.pick("agent_message", "agent_message", "agent_message", "agent_message", "user_prompt", "tool_call", "tool_call_update", "usage", "agent_thought")
		text := line(seq, kind, a.data(kind))
		switch a.IntN(8) {
		case 0: // without a checksum, as from an importer
			text = text[:len(text)-len(`,"crc":"00000000"}`)-1] + "}\n"
		case 1: // a flipped byte
			at := strings.Index(text, `"data"`) + a.IntN(len(text)-strings.Index(text, `"data"`)-1)
			if flipped := text[at] ^ byte(1<<a.IntN(7)); flipped != '\n' {
				text = text[:at] + string([]byte{flipped}) + text[at+1:]
			}
		case 2, 3: // invalid JSON
			at := strings.Index(text, `"data"`) + a.IntN(len(text)-strings.Index(text, `"data"`)-20)
			text = text[:at] + a.pick("\\q", "\x01", "\"", "\xff") + text[at:]
		}
		b.WriteString(text)
	}
	return b.String()
}

// The search decodes few lines. It must find the same hits as a search that decodes
// every line.
func TestNothingIsLostByNotDecoding(t *testing.T) {
	found := 0
	for seed := range uint64(300) {
		a := author{rand.New(rand.NewPCG(seed, 1))}
		const lines = 12
		log := a.log(lines)
		sources := source(t, map[string]string{"events.jsonl": log}, lines)
		passages := listen(log)
		for range 12 * min(len(passages), 1) {
			query := a.query(passages)
			if query == "" || strings.IndexFunc(query, unicode.IsControl) >= 0 {
				continue
			}
			want := slowly(passages, query)
			require.Equal(t, want, all(t, sources, `"`+query+`"`, 100), "seed %d, %q in\n%s", seed, query, log)
			found += len(want)
		}
	}
	require.Greater(t, found, 2500, "too few hits: the logs must contain the queries")
}
