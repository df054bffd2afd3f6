package acp

import (
	"encoding/json"
	"strings"
	"unicode"
)

// retold tells what an agent says of the past from what it says now, once it has
// answered session/load or session/resume: some agents tell their history only then, a
// moment later or when they get the first prompt. A part of the past begins with a
// prompt of the log, and lasts as long as the agent repeats that turn's answer word for
// word. Updates are held until that is decided, and count as live in doubt. It belongs
// to the reader.
type retold struct {
	// known reads the history. It is nil where there is none.
	known func() *Known
	limit int // bytes that are held

	next    int    // all prompts of the log before it were told
	telling bool   // a prompt of the log was told last
	rest    string // what is left of that prompt's answer
	// echo is that prompt if the prompt of the open turn has the same words: its answer
	// may be live. alone means that no other was told before it, at is its place in the
	// log.
	echo  string
	alone bool
	at    int
	cut   bool              // that turn was cut off, and the agent may have a message about it
	asked []said            // user chunks that follow each other
	held  []json.RawMessage // undecided
	bytes int               // of both
	told  [][]string        // the prompts that were told after the first prompt
	// spoke means that the agent has said something live in the turn of this prompt.
	spoke bool
	turn  *string
}

// said is an update that may be of the past.
type said struct {
	params json.RawMessage // of its notification
	historyUpdate
}

// take takes an update. taken means that it is of the past or held. live are the updates
// that were held and are not of the past, to be recorded before it. prompt is that of the
// latest turn, nil before the first.
func (r *retold) take(u said, prompt *string) (taken bool, live []json.RawMessage) {
	switch {
	case u.Kind == userChunk:
		r.asked = append(r.asked, u)
		if r.bytes += len(u.params); r.bytes > r.limit {
			live = append(r.settle(prompt), r.end()...)
		}
		return true, live
	case !u.past():
		return false, r.settle(prompt)
	}
	if r.turn != prompt {
		r.turn, r.spoke = prompt, false
	}
	live = r.settle(prompt)
	if r.telling && r.repeats(u) {
		r.cut = false
		return true, live
	}
	r.spoke = r.spoke || u.Kind == messageChunk
	return false, append(live, r.end()...)
}

// repeats reports whether an update is a part of the turn that is told, and holds it.
func (r *retold) repeats(u said) bool {
	ongoing := r.rest != "" && !r.alone
	switch u.Kind {
	case messageChunk:
		text := dense(blockText(u.Content))
		if text == "" {
			break
		}
		rest, is := strings.CutPrefix(r.rest, text)
		if !is {
			return false
		}
		r.rest, ongoing = rest, true
	case toolCall, toolCallUpdate:
		ongoing = ongoing || r.known().hasTool(u.ToolCallID)
	}
	if r.bytes += len(u.params); !ongoing || r.bytes > r.limit {
		return false
	}
	r.held = append(r.held, u.params)
	return true
}

// settle decides about the user chunks before an update.
func (r *retold) settle(prompt *string) (live []json.RawMessage) {
	asked := r.asked
	r.asked = nil
	for len(asked) > 0 {
		n := 1
		for n < len(asked) && asked[n].MessageID == asked[0].MessageID {
			n++
		}
		live = append(live, r.settleMessage(asked[:n], prompt)...)
		asked = asked[n:]
	}
	return live
}

// settleMessage decides about the chunks of one message, or of several without ids.
func (r *retold) settleMessage(chunks []said, prompt *string) (live []json.RawMessage) {
	var texts []string
	for _, c := range chunks {
		texts = append(texts, blockText(c.Content))
	}
	if r.tell(strings.Join(texts, ""), prompt) {
		return nil
	}
	text, from := "", 0
	for i := range texts {
		if text += texts[i]; r.tell(text, prompt) {
			text, from = "", i+1
		}
	}
	for i, c := range chunks[from:] {
		switch {
		case prompt != nil && isText(c.Content) && echoes(texts[from+i], *prompt):
			r.count()
			r.end()
		case r.telling && r.cut:
			r.cut = false
		default:
			live = append(append(live, r.end()...), c.params)
		}
	}
	return live
}

// tell notes a told prompt, if the log has it.
func (r *retold) tell(text string, prompt *string) bool {
	var known *Known
	if r.known != nil {
		known = r.known()
	}
	if known == nil || strings.TrimSpace(text) == "" {
		return false
	}
	echo := prompt != nil && echoes(text, *prompt)
	at := known.find(text, r.next)
	again := at < 0
	if again && !echo {
		at = known.find(text, 0)
	}
	if at < 0 {
		return false
	}
	r.count()
	r.alone = echo && !r.telling
	r.end()
	r.telling, r.rest, r.cut = true, dense(string(known.Prompts[at].Answer)), known.Prompts[at].Cut
	switch {
	case again: // it is counted
	case echo:
		r.echo, r.at = text, at
	default:
		if r.next = at + 1; prompt != nil {
			r.told = append(r.told, []string{text})
		}
	}
	return true
}

// count notes that what is undecided is of the past, as a prompt follows it.
func (r *retold) count() {
	if r.echo != "" {
		r.next, r.told = r.at+1, append(r.told, []string{r.echo})
	}
	r.held = nil
}

// end ends a part of the past. It returns what is undecided.
func (r *retold) end() []json.RawMessage {
	held := r.held
	if r.rest == "" && r.echo == "" {
		held = nil // the answer was told
	}
	r.held, r.telling, r.rest, r.echo, r.alone, r.bytes = nil, false, "", "", false, 0
	return held
}

// pause returns what is undecided when a turn ends or the agent asks something. A turn
// in which the agent has said nothing else had its answer in that.
func (r *retold) pause(prompt *string) []json.RawMessage {
	live := r.settle(prompt)
	if held := r.held; len(held) > 0 && (r.rest != "" || r.echo != "" || !r.spoke) {
		r.end()
		return append(live, held...)
	}
	r.held, r.bytes = nil, 0
	return live
}

// find returns the first prompt from a place on that has this text, or -1.
func (k *Known) find(text string, from int) int {
	for at := from; at < len(k.Prompts); at++ {
		if p := k.Prompts[at]; strings.TrimSpace(p.Text) != "" && p.is(text) {
			return at
		}
	}
	return -1
}

// dense is a text without white space, which agents trim and add.
func dense(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, text)
}
