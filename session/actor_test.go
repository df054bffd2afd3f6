package session_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// TestEveryVerbTakesAnActor holds for each method of a session that can fail: it takes
// an actor, by itself or in its request, or it only reads or closes.
func TestEveryVerbTakesAnActor(t *testing.T) {
	reads := []string{
		"OpenBlob", "OpenError", "ReadError", "Comments", "Export", "Overview", "Interruption", "Rules",
		"Draft", // words for a commit
		"Merges",
		"Job",
		"ResumeUnchanged", // as the hub
		"Like",            // completes a rule and keeps nothing
		"Record",          // the recorder's id stands for the actor of Manager.Record
	}
	actor := reflect.TypeFor[event.Actor]()
	takes := func(in reflect.Type) bool {
		if in == actor {
			return true
		}
		if in.Kind() != reflect.Struct {
			return false
		}
		for _, name := range []string{"Actor", "CreatedByID", "ByID"} {
			if _, ok := in.FieldByName(name); ok {
				return true
			}
		}
		return false
	}
	b := reflect.TypeFor[*session.BackgroundSession]()
	verbs := 0
	for i := range b.NumMethod() {
		m := b.Method(i)
		out := m.Type.NumOut()
		if out == 0 || m.Type.Out(out-1) != reflect.TypeFor[error]() || slices.Contains(reads, m.Name) {
			continue
		}
		verbs++
		found := false
		for at := range m.Type.NumIn() {
			found = found || takes(m.Type.In(at))
		}
		require.True(t, found, "%s takes no actor", m.Name)
	}
	require.Greater(t, verbs, 15)
}

// TestAnEditIsTheEditors has one person edit what another wrote.
func TestAnEditIsTheEditors(t *testing.T) {
	h := newHub(t)
	b, _ := h.busy()
	_, err := b.Prompt(ctxOf(t), session.PromptRequest{PromptID: "q", Text: "as ann wrote it", Actor: person("ann")})
	require.NoError(t, err)
	require.NoError(t, b.QueueMove(ctxOf(t), "q", 0, person("bob")))
	require.Equal(t, "ann", b.Queue()[0].Actor, "the words are still ann's")
	for _, text := range []string{"as bob wrote it", "once more"} {
		require.NoError(t, b.QueueEdit(ctxOf(t), "q", text, person("bob")))
		item := b.Queue()[0]
		require.Equal(t, []string{"bob", person("bob").ID, "ann", person("ann").ID}, []string{item.Actor, item.ByID, item.Author, item.AuthorID})
	}

	made, err := b.Comments().Add(commentOf("c", "why?"), false)
	require.NoError(t, err)
	text := "why not?"
	changed, err := b.Comments().Edit("c", state.CommentPatch{Text: &text}, person("bob"))
	require.NoError(t, err)
	require.Equal(t, []string{"bob", person("bob").ID, made.By, made.ByID}, []string{changed.By, changed.ByID, changed.Author, changed.AuthorID})
	resolved := true
	changed, err = b.Comments().Edit("c", state.CommentPatch{Resolved: &resolved}, person("cy"))
	require.NoError(t, err)
	require.Equal(t, "bob", changed.By)
	require.Equal(t, []string{"cy", person("cy").ID}, []string{changed.ResolvedBy, changed.ResolvedByID})
	changed, err = b.Comments().Edit("c", state.CommentPatch{Resolved: &resolved}, person("dan"))
	require.NoError(t, err)
	require.Equal(t, "cy", changed.ResolvedBy, "it was resolved already")
	resolved = false
	changed, err = b.Comments().Edit("c", state.CommentPatch{Resolved: &resolved}, person("dan"))
	require.NoError(t, err)
	require.Equal(t, "dan", changed.ResolvedBy, "who opened it again")
	_, err = b.Comments().Edit("c", state.CommentPatch{}, person("dan"))
	require.ErrorIs(t, err, state.ErrInvalid)
	list, _, err := b.Comments().List()
	require.NoError(t, err)
	require.Equal(t, changed, list[0], "as it is kept")
}
