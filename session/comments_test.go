package session_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/comment"
	"github.com/abidehub/abide/session/state"
)

func commentOf(id, text string) state.Comment {
	return state.Comment{CommentID: id, FromSeq: 1, Text: text, By: "ann", ByID: "id-ann"}
}

func TestACommentIsThereAfterACrashAndTheSameAgainAddsNothing(t *testing.T) {
	h := newHub(t)
	b := h.create()
	before, err := b.Comments().Add(commentOf("c1", "why?"), false)
	require.NoError(t, err)
	again, err := b.Comments().Add(commentOf("c1", "why?"), false)
	require.NoError(t, err)
	require.Equal(t, before, again)
	_, err = b.Comments().Add(commentOf("c1", "why not?"), false)
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = b.Comments().Add(commentOf("c2", "and this?"), false)
	require.NoError(t, err)
	settled, words := true, "because"
	after, err := b.Comments().Edit("c1", state.CommentPatch{Resolved: &settled, Text: &words}, person("ann"))
	require.NoError(t, err)
	require.NotNil(t, after.EditedAt)
	require.Equal(t, comment.Count{Version: 3, Count: 2, Open: 1}, b.Comments().Count())

	c := h.copyOf(t)
	found, err := c.manager.Session(ctxOf(t), b.ID())
	require.NoError(t, err)
	list, version, err := found.Comments().List()
	require.NoError(t, err)
	require.Equal(t, int64(3), version)
	require.Len(t, list, 2)
	require.Equal(t, "because", list[0].Text)
	require.NoError(t, found.Comments().Remove("c2", person("ann")))
	require.ErrorIs(t, found.Comments().Remove("c2", person("ann")), state.ErrNotFound)
}

func TestACommentKeepsItsPlaceAndOneOfAnEarlierBuildIsReadOn(t *testing.T) {
	h := newHub(t)
	b := h.create()
	placed := commentOf("c1", "trim?")
	placed.Path, placed.Line, placed.EndLine, placed.Side, placed.Quote = "internal/importer.go", 14, 15, "new", "if err != nil {\n\treturn err"
	made, err := b.Comments().Add(placed, false)
	require.NoError(t, err)
	placed.Line = 13
	_, err = b.Comments().Add(placed, false)
	require.ErrorIs(t, err, state.ErrConflict, "the same id with another place")
	version, list, err := comment.Parse([]byte(`{"format":1,"version":4}` + "\n" + `{"comment_id":"o","from_seq":1,"to_seq":1,"text":"old","by":"ann","at":"2026-02-21T14:03:07Z","resolved":false}` + "\n"))
	require.NoError(t, err)
	require.Equal(t, int64(4), version)
	var data bytes.Buffer
	require.NoError(t, comment.Encode(&data, version, append(list, made)))
	_, again, err := comment.Parse(data.Bytes())
	require.NoError(t, err)
	require.Equal(t, []state.Comment{list[0], made}, again)
}

func TestCommentsHaveBounds(t *testing.T) {
	b := newHub(t).create()
	for name, c := range map[string]state.Comment{
		"no text":                       commentOf("c", ""),
		"too much text":                 commentOf("c", strings.Repeat("x", 8<<10+1)),
		"no id":                         commentOf("", "x"),
		"before the log":                {CommentID: "c", FromSeq: 0, Text: "x"},
		"behind the log":                {CommentID: "c", FromSeq: 1, ToSeq: 1 << 40, Text: "x"},
		"a line without its file":       {CommentID: "c", FromSeq: 1, Text: "x", Line: 3},
		"an end before its line":        {CommentID: "c", FromSeq: 1, Text: "x", Path: "a.go", Line: 3, EndLine: 2},
		"an unknown side":               {CommentID: "c", FromSeq: 1, Text: "x", Path: "a.go", Side: "left"},
		"too much quoted":               {CommentID: "c", FromSeq: 1, Text: "x", Quote: strings.Repeat("x", 4<<10+1)},
		"a path that cannot be printed": {CommentID: "c", FromSeq: 1, Text: "x", Path: "a\nb"},
		"the wrong order":               {CommentID: "c", FromSeq: 2, ToSeq: 1, Text: "x"},
	} {
		_, err := b.Comments().Add(c, false)
		require.ErrorIs(t, err, state.ErrInvalid, name)
	}
	require.Zero(t, b.Comments().Count())
}

func TestASessionHasAtMostAThousandComments(t *testing.T) {
	h := newDiskHub(t)
	b := h.create()
	file := []string{`{"format":1,"version":1000}`}
	for i := range 1000 {
		file = append(file, fmt.Sprintf(`{"comment_id":"c%d","from_seq":1,"to_seq":1,"text":"x","by":"ann","at":"2026-02-21T14:03:07Z","resolved":false}`, i))
	}
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "sessions", b.ID(), "comments.jsonl"), []byte(strings.Join(file, "\n")+"\n"), 0o600))
	_, err := b.Comments().Add(commentOf("c1000", "one more"), false)
	require.ErrorIs(t, err, state.ErrConflict)
}

func TestGuestsLeaveCommentsForTheOwnersAndForEachOther(t *testing.T) {
	h := newDiskHub(t)
	b := h.create()
	path := filepath.Join(h.dir, "sessions", b.ID(), "comments.jsonl")
	fill := func(n int, by func(i int) string) {
		file := []string{fmt.Sprintf(`{"format":1,"version":%d}`, n)}
		for i := range n {
			file = append(file, fmt.Sprintf(`{"comment_id":"c%d","from_seq":1,"to_seq":1,"text":"x","by":"ann","by_id":%q,"at":"2026-02-21T14:03:07Z","resolved":false}`, i, by(i)))
		}
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(file, "\n")+"\n"), 0o600))
	}
	fill(250, func(int) string { return "id-ann" })
	_, err := b.Comments().Add(commentOf("more", "one more of ann"), true)
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = b.Comments().Add(state.Comment{CommentID: "bob", FromSeq: 1, Text: "one of bob", By: "bob", ByID: "id-bob"}, true)
	require.NoError(t, err)

	fill(750, func(i int) string { return fmt.Sprint("guest ", i/250) })
	_, err = b.Comments().Add(commentOf("more", "one of another guest"), true)
	require.ErrorIs(t, err, state.ErrConflict)
	_, err = b.Comments().Add(commentOf("more", "one of the owner"), false)
	require.NoError(t, err)
}
