package state

import "strings"

// subjectRunes bounds the first line of a commit's message.
const subjectRunes = 72

// Task is what a person asked for, as the first line of a commit's message.
type Task struct {
	// Subject is the first sentence of the first prompt since the latest commit. A prompt whose
	// first sentence only leads to what follows, as that of review comments, is none.
	Subject string `json:"subject,omitempty"`
	// Committed means that the work was committed: the next prompt begins another.
	Committed bool `json:"committed,omitempty"`
}

func (t *Task) prompted(text string) {
	if t.Subject != "" && !t.Committed {
		return
	}
	first := firstSentence(text)
	if first == "" || strings.HasSuffix(first, ":") || strings.HasSuffix(first, "：") {
		return
	}
	*t = Task{Subject: strings.Clone(CommitSubject(first))} // without the text
}

// acted notes the latest act on the branch.
func (t *Task) acted(acts []BranchAct) {
	if n := len(acts); n > 0 && acts[n-1].Act == "commit" && acts[n-1].Stage == ActDone {
		t.Committed = true
	}
}

// CommitSubject cuts text at a word to what fits into the first line of a commit's message.
func CommitSubject(text string) string {
	return strings.TrimSuffix(Cut(text, subjectRunes+1), "…")
}
