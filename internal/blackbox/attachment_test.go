package blackbox_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/stretchr/testify/require"
)

// block is an ACP content block of a prompt.
type block struct {
	Type, Text, Data, MimeType, Name, URI string
	Resource                              struct{ Text, MimeType, URI string }
}

// given returns the blocks of the prompt with this text, as the tap recorded them.
func given(t *testing.T, record, text string) []block {
	t.Helper()
	data, err := os.ReadFile(record)
	require.NoError(t, err)
	var found [][]block
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, "line ")
		if !ok || !strings.Contains(rest, `"session/prompt"`) {
			continue
		}
		var m struct{ Params struct{ Prompt []block } }
		require.NoError(t, json.Unmarshal([]byte(rest), &m))
		if m.Params.Prompt[0].Text == text {
			found = append(found, m.Params.Prompt)
		}
	}
	require.Len(t, found, 1, "the prompt was given once")
	return found[0]
}

// upload stores a file for the prompts of a session.
func upload(t *testing.T, h *hub, token, session, name, kind string, data []byte) event.Attachment {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+h.addr+"/api/sessions/"+session+"/attachments?name="+url.QueryEscape(name), bytes.NewReader(data))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, res.StatusCode, string(body))
	var a event.Attachment
	require.NoError(t, json.Unmarshal(body, &a))
	return a
}

// TestAttachmentsReachTheAgentAsBlocksItTakes attaches an image, a text and a file
// too large for a prompt. It sends them to an idle agent, and once more from the
// queue of a hub that was killed.
func TestAttachmentsReachTheAgentAsBlocksItTakes(t *testing.T) {
	t.Parallel()
	record := filepath.Join(t.TempDir(), "record")
	h := newHub(t, settings{agents: map[string]agent{"demo": tapped(t, record, demo())}})
	session := h.create("demo")
	token := h.token()
	image, large := []byte("\x89PNG\r\n\x1a\nnot much of one"), bytes.Repeat([]byte("large\n"), 3<<20)
	files := []event.Attachment{
		upload(t, h, token, session.SessionID, "shot.png", "image/png", image),
		upload(t, h, token, session.SessionID, "notes.txt", "text/plain", []byte("read me")),
		upload(t, h, token, session.SessionID, "large.log", "text/plain", large),
	}
	desk := h.screen("desk", session, 0)
	send := func(id, text string) {
		_, err := desk.socket().Prompt(t.Context(), wire.Prompt{SessionID: session.SessionID, PromptID: id, Text: text, Attachments: files})
		require.NoError(t, err)
	}
	requireBlocks := func(text string) {
		blocks := given(t, record, text)
		require.Len(t, blocks, 4)
		require.Equal(t, block{Type: "image", MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(image)}, blocks[1])
		require.Equal(t, "resource", blocks[2].Type)
		require.Equal(t, "read me", blocks[2].Resource.Text)
		require.Equal(t, "text/plain", blocks[2].Resource.MimeType)
		require.Equal(t, "resource_link", blocks[3].Type)
		require.Equal(t, "large.log", blocks[3].Name)
		where, err := url.Parse(blocks[3].URI)
		require.NoError(t, err)
		require.Equal(t, "file", where.Scheme)
		bytesThere, err := os.ReadFile(where.Path)
		require.NoError(t, err, "the linked file can be read")
		require.True(t, bytes.Equal(large, bytesThere))
	}
	send("p1", "/markdown now")
	desk.untilTurnEnds("p1")
	requireBlocks("/markdown now")

	desk.prompt(session.SessionID, "busy", "/ask")
	desk.untilAsked(1)
	send("p2", "/markdown later")
	h.kill()
	h.start()
	desk.untilTurnEnds("p2")
	requireBlocks("/markdown later")
}
