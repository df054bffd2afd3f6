package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/exchange"
	"github.com/abidehub/abide/session/export"
)

// exportRows are the routes of this file.
func exportRows() section {
	return section{
		title: "Export and import",
		about: []string{
			"`jsonl` has the events as the log has them. `zip` has `events.jsonl, metadata.json, queue.json, comments.jsonl, blobs/<sha256>`. `html` is one file with a player. `redact` (docs/security.md) also leaves out the agent's own JSON (`raw`) and the blobs.",
			"An import has at most 4 GiB, and takes at most half of the free disk. Its `status` is `imported`; ids, seqs, times and epoch are as they were. 409 if another session has the id, also one that differs in a single event. 400 for a wrong `crc` in a line and for a time outside the years 1970 to 2261. Prompts to an imported session get 409.",
		},
		rows: []route{
			{
				"POST", "/api/import", auth.Credential, auth.Manage, false, importRoute,
				doc{
					raw: true,
					summary: "Bring back an export: the body is the zip of a session, or the lines of its events from the first on. 200 where the session is there already. " +
						"Nothing is added to an imported session.",
					out: wire.SessionInfo{}, status: 201,
				},
			},
			{
				"GET", one + "/export", auth.Credential, auth.Act, false, exportRoute,
				doc{
					summary: "The session as a file, named after it: a web page with player (html), Markdown for a pull request, the full archive (zip), or the raw events (jsonl). " +
						"With redact=preview: how much a redaction would take away, and where.",
					query: []param{
						{"format", "jsonl (the default), markdown, html or zip", ""},
						{"from", "the first event, by its seq or by a time (RFC 3339) that it is at or after", ""},
						{"to", "the last event, by its seq or by a time that it is before", ""},
						{"redact", "what to leave out, by commas: secrets, paths, images, thoughts, outputs; or preview, alone for all of them", ""},
					},
					out: wire.ExportPreview{}, status: 200, stream: "application/octet-stream",
				},
			},
			{
				"POST", one + "/export/address", auth.Credential, auth.Act, false, exportAddressRoute,
				doc{
					summary: "An address of the export that a browser may fetch with the device's cookie and no page token, so that a download goes to the disk as it comes. " +
						"The parameters of the export are added to it. It is good for ten minutes.",
					out: wire.SignedAddress{}, status: 200,
				},
			},
		},
	}
}

func exportRoute(s *API, c *call) error {
	own, err := c.session()
	if err != nil {
		return err
	}
	return exportOf(s, c, own)
}

func exportOf(_ *API, c *call, own Watched) error {
	q := c.r.URL.Query()
	format := export.Format(q.Get("format"))
	if format == "" {
		format = export.JSONL
	}
	if !slices.Contains(export.Formats(), format) {
		return Invalid("format is not one of jsonl, markdown, html and zip")
	}
	redact, preview, err := redactionOf(q.Get("redact"))
	if err != nil {
		return err
	}
	from, err := boundOf(c.r.Context(), own, q.Get("from"), 0)
	if err != nil {
		return err
	}
	to, err := boundOf(c.r.Context(), own, q.Get("to"), -1)
	if err != nil {
		return err
	}
	out, err := exchange.Export(own.Log(), from, to)
	if err != nil {
		return err
	}
	prepared, err := export.Prepare(c.r.Context(), out, redact)
	if err != nil {
		return err
	}
	if preview {
		found, err := prepared.Preview(c.r.Context())
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, found)
	}
	h := c.w.Header()
	h.Set("Content-Type", format.MediaType())
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": prepared.FileName(format)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	if c.r.Method == http.MethodHead {
		return nil
	}
	if err := prepared.Write(c.r.Context(), patient{c}, format); err != nil {
		c.logger().Warn("an export was interrupted", "err", err)
		panic(http.ErrAbortHandler) // the client sees a download that failed
	}
	return nil
}

func exportAddressRoute(s *API, c *call) error {
	address, until := s.door.SignAddress(c.r, c.grant, "/api/sessions/"+mux.Vars(c.r)["id"]+"/export")
	return c.reply(http.StatusOK, wire.SignedAddress{Address: address, ExpiresAt: until})
}

// redactionOf reads the redact parameter. Preview alone is of everything.
func redactionOf(list string) (r export.Redaction, preview bool, err error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "preview":
			preview = true
		default:
			names = append(names, name)
		}
	}
	if preview && len(names) == 0 {
		return export.Redaction{Secrets: true, Paths: true, Images: true, Thoughts: true, Outputs: true}, true, nil
	}
	r, err = export.ParseRedaction(names)
	if err != nil {
		return r, preview, Invalid("%s", err)
	}
	return r, preview, nil
}

// boundOf reads a seq, or a time: then it is the first event at or after it, moved by
// some. Zero is no bound.
func boundOf(ctx context.Context, of Watched, text string, moved event.Seq) (event.Seq, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return event.Seq(n), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, Invalid("%.40q is neither a seq nor a time", text)
	}
	seq, found, err := of.Log().SeqAt(ctx, at)
	switch {
	case err != nil:
		return 0, err
	case !found && moved < 0:
		return 0, nil // all of them are earlier
	case !found, seq+moved < of.Log().Marks().Min:
		return 0, Invalid("there are no events on that side of %.40s", text)
	}
	return seq + moved, nil
}

// patient gives a client the time of a request for each piece of a long answer.
type patient struct{ c *call }

func (p patient) Write(data []byte) (int, error) {
	err := http.NewResponseController(p.c.w).SetWriteDeadline(time.Now().Add(p.c.server.request))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.c.w.Write(data)
}

var _ io.Writer = patient{}

// maxImport bounds an import, in bytes.
const maxImport = 4 << 30

func importRoute(s *API, c *call) error {
	made, isNew, err := s.manager.Import(c.r.Context(), http.MaxBytesReader(c.w, slow{c}, maxImport))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
	}
	c.w.Header().Set("Location", "/api/sessions/"+made.ID())
	return c.reply(status, s.InfoFor(c.grant, made.Info()))
}

// slow gives a client the time of a request for each piece of a long body.
type slow struct{ c *call }

func (r slow) Read(data []byte) (int, error) {
	err := http.NewResponseController(r.c.w).SetReadDeadline(time.Now().Add(r.c.server.request))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return r.c.r.Body.Read(data)
}

func (r slow) Close() error { return r.c.r.Body.Close() }
