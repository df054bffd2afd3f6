package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/list"
	"github.com/abidehub/abide/session/state"
	"github.com/abidehub/abide/session/store"
)

// labelled returns a closed hub with one session that a person named, pinned, archived
// and tagged.
func labelled(t *testing.T) (h *hub, id string) {
	h = newDiskHub(t)
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Workspace: h.workspace, Name: "At first"})
	require.NoError(t, err)
	yes, name, tags := true, "Mine", []string{"release", "für später"}
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Name: &name, Pinned: &yes, Archived: &yes, Tags: &tags}))
	h.close()
	return h, b.ID()
}

func TestALabelOutlivesTheLossOfEitherFile(t *testing.T) {
	const metadata, labels = "metadata.json", "labels.json"
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, name))) }
	}
	write := func(name string, data string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
		}
	}
	for what, damage := range map[string]func(t *testing.T, dir string){
		"no metadata":                 remove(metadata),
		"empty metadata":              write(metadata, ""),
		"garbage metadata":            write(metadata, "\x00\x00{]"),
		"metadata of another session": write(metadata, `{"session_id":"20260101-000000-00000000","name":"Not mine"}`),
		"no labels":                   remove(labels),
		"garbage labels":              write(labels, "\x00\x00{]"),
		"labels of another session":   write(labels, `{"session_id":"20260101-000000-00000000","name":"Not mine"}`),
	} {
		t.Run(what, func(t *testing.T) {
			h, id := labelled(t)
			dir := filepath.Join(h.dir, "sessions", id)
			damage(t, dir)
			h.open()
			listed, ok := h.store.Listed(id)
			require.True(t, ok)
			require.Equal(t, "Mine", listed.Name, "the list had no name before the session was opened")
			require.True(t, listed.Pinned && listed.Archived)
			require.Equal(t, []string{"release", "für später"}, listed.Tags)
			b := h.session(id)
			prompt(t, b, promptID(0)) // names a session without a name, and unarchives it
			yes := true
			require.NoError(t, h.manager.Update(ctxOf(t), id, session.Patch{Archived: &yes}))
			h.close()
			h.open()
			info := h.session(id).Info()
			require.Equal(t, "Mine", info.Name)
			require.True(t, info.Pinned && info.Archived)
			require.Equal(t, []string{"release", "für später"}, info.Tags)
			h.close()
			for _, name := range []string{metadata, labels} { // the hub has restored both
				data, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				var on struct {
					Name             string
					Pinned, Archived bool
					Tags             []string
				}
				require.NoError(t, json.Unmarshal(data, &on))
				require.True(t, on.Pinned && on.Archived && on.Name == "Mine" && len(on.Tags) == 2, "%s: %s", name, data)
			}
			report, err := store.Check(ctxOf(t), h.dir, id)
			require.NoError(t, err)
			require.Empty(t, report.Problems)
		})
	}
}

func TestANameHasSomethingToSee(t *testing.T) {
	h := newHub(t)
	id := h.create().ID()
	for _, name := range []string{"\u0301", "\ufe0f", "\U000e0100", "\u0301 \ufe0f", "\u034f\u115f\u3164\uffa0", "\u2800"} {
		err := h.manager.Update(ctxOf(t), id, session.Patch{Name: &name})
		require.ErrorIs(t, err, state.ErrInvalid, "%+q", name)
		require.ErrorContains(t, err, "use at least one letter", "%+q", name)
	}
	for _, name := range []string{"e\u0301", "❤\ufe0f", "葛\U000e0100", "-", "7"} {
		require.NoError(t, h.manager.Update(ctxOf(t), id, session.Patch{Name: &name}), "%+q", name)
		require.Equal(t, name, h.session(id).Info().Name)
	}
}

// How a keyboard writes an accent makes no other tag.
func TestTheFormOfUnicodeMakesNoOtherTag(t *testing.T) {
	h := newHub(t)
	id := h.create().ID()
	tags := []string{"caf\u00e9", "cafe\u0301", "re\u0301sume\u0301"}
	require.NoError(t, h.manager.Update(ctxOf(t), id, session.Patch{Tags: &tags}))
	require.Equal(t, []string{"caf\u00e9", "r\u00e9sum\u00e9"}, h.session(id).Info().Tags)
	for _, form := range []string{"caf\u00e9", "cafe\u0301"} {
		asked, err := state.GivenTags([]string{form})
		require.NoError(t, err)
		page, err := h.manager.List(list.Options{Tags: asked})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
	}
}

func TestTheTagsOfASessionAreReplacedTrimmedAndKeptOnce(t *testing.T) {
	h := newHub(t)
	id := h.create().ID()
	set := func(tags ...string) error { return h.manager.Update(ctxOf(t), id, session.Patch{Tags: &tags}) }
	twenty := make([]string, 20)
	for i := range twenty {
		twenty[i] = fmt.Sprint("tag ", i)
	}
	require.NoError(t, set(append(twenty, "tag 7 ")...))
	require.Equal(t, twenty, h.session(id).Info().Tags)
	require.NoError(t, set(" b ", "a", "b", strings.Repeat("ü", 40)))
	kept := []string{"b", "a", strings.Repeat("ü", 40)}
	require.Equal(t, kept, h.session(id).Info().Tags)
	for _, wrong := range [][]string{{""}, {" "}, {"a,b"}, {"a\nb"}, {strings.Repeat("ü", 41)}, {"\u0301"}, append(slices.Clone(twenty), "one more")} {
		err := set(wrong...)
		require.ErrorIs(t, err, state.ErrInvalid, "%+q", wrong)
		require.Equal(t, "tags", state.FieldOf(err), "%+q", wrong)
		require.Equal(t, kept, h.session(id).Info().Tags, "%+q", wrong)
	}
	require.NoError(t, set())
	require.Empty(t, h.session(id).Info().Tags)
}

func TestANameTakenBackStaysSoWithoutMetadata(t *testing.T) {
	h, id := labelled(t)
	h.open()
	no, none, untagged := false, "", []string{}
	require.NoError(t, h.manager.Update(ctxOf(t), id, session.Patch{Name: &none, Pinned: &no, Archived: &no, Tags: &untagged}))
	prompt(t, h.session(id), promptID(0))
	h.close()
	require.NoError(t, os.Remove(filepath.Join(h.dir, "sessions", id, "metadata.json")))
	h.open()
	b := h.session(id)
	require.Eventually(t, func() bool { return b.Info().Name == "do "+promptID(0) }, patience, tick)
	require.False(t, b.Info().Pinned || b.Info().Archived)
	require.Empty(t, b.Info().Tags)
	require.Len(t, payloads[event.UserPrompt](t, b), 1)
}

func TestANameIsOnTheDeviceOnceItsSessionIsMade(t *testing.T) {
	h := newDiskHub(t)
	b, err := h.manager.Create(ctxOf(t), session.CreateRequest{Workspace: h.workspace, Name: "Mine"})
	require.NoError(t, err)
	for _, name := range []string{"metadata.json", "labels.json"} {
		data, err := os.ReadFile(filepath.Join(h.dir, "sessions", b.ID(), name))
		require.NoError(t, err)
		require.Contains(t, string(data), `"name":"Mine"`, name)
	}
}

func TestAPromptTakesASessionOutOfTheArchive(t *testing.T) {
	h := newHub(t)
	b := h.create()
	yes := true
	require.NoError(t, h.manager.Update(ctxOf(t), b.ID(), session.Patch{Archived: &yes}))
	require.True(t, b.Info().Archived)
	prompt(t, b, promptID(7))
	require.False(t, b.Info().Archived)
}
