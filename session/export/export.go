// Package export writes a session as a file to take away: its events, a zip of
// everything, Markdown for a pull request, or a page that plays it. Parts that
// should not leave the hub can be left out.
package export

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/abidehub/abide/observer"
	"github.com/abidehub/abide/session/event"
)

// Format is how a session is written.
type Format string

// The formats.
const (
	JSONL    Format = "jsonl"
	Markdown Format = "markdown"
	HTML     Format = "html"
	Zip      Format = "zip"
)

// Formats lists them.
func Formats() []Format { return []Format{JSONL, Markdown, HTML, Zip} }

// MediaType is that of a file in a format.
func (f Format) MediaType() string {
	return map[Format]string{
		JSONL: "application/x-ndjson", Markdown: "text/markdown; charset=utf-8", HTML: "text/html; charset=utf-8", Zip: "application/zip",
	}[f]
}

// Extension ends the name of a file in a format.
func (f Format) Extension() string {
	return map[Format]string{JSONL: "jsonl", Markdown: "md", HTML: "html", Zip: "zip"}[f]
}

// mostName bounds the part of a file's name that comes from the session's.
const mostName = 60

// batchBytes is how much of a log is read at once.
const batchBytes = 1 << 20

// Session is the session to export.
type Session struct {
	SessionID, Name, Agent, Workspace, ProjectRoot string

	Log observer.Source
	// First and Last are the events to export.
	First, Last event.Seq
	// Files lie beside the events in a zip, as JSON or lines of it, by name.
	Files []File
	// Blobs are the hashes of the large values in a zip.
	Blobs []string
	// OpenBlob opens one of them.
	OpenBlob func(sha256 string) (io.ReadCloser, error)
}

// File is a file of a zip.
type File struct {
	Name string
	Data []byte
}

// Prepared is a session of which is known what a redaction leaves out. It is good for
// one export.
type Prepared struct {
	session Session
	r       *redactor
}

// Prepare reads the events that a redaction has to know before any of them is written.
func Prepare(ctx context.Context, s Session, redact Redaction) (Prepared, error) {
	r := newRedactor(s, redact)
	if r.any() {
		if err := r.study(func(f func(event.Header) error) error { return s.read(ctx, f) }); err != nil {
			return Prepared{}, fmt.Errorf("look through session %s: %w", s.SessionID, err)
		}
	}
	return Prepared{s, r}, nil
}

// FileName names the file of the session after it, "ledger-import-fix.html": letters and
// digits, lower case, with hyphens between words. A session without a name has its id.
func (p Prepared) FileName(f Format) string {
	words := strings.FieldsFunc(strings.ToLower(p.r.name(p.session)), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c)
	})
	name := []rune(strings.Join(words, "-"))
	name = []rune(strings.TrimRight(string(name[:min(len(name), mostName)]), "-"))
	if len(name) == 0 {
		name = []rune(p.session.SessionID)
	}
	return string(name) + "." + f.Extension()
}

// Write writes the session. It reads the log bit by bit; of each turn, Markdown holds
// the text until the turn has ended.
func (p Prepared) Write(ctx context.Context, w io.Writer, format Format) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch s := p.session; format {
	case JSONL:
		err = s.lines(ctx, out, p.r)
	case Markdown:
		err = s.markdown(ctx, out, p.r)
	case HTML:
		err = s.page(ctx, out, p.r)
	case Zip:
		err = s.zip(ctx, out, p.r)
	default:
		return fmt.Errorf("no format %q", format)
	}
	if err != nil {
		return fmt.Errorf("export session %s: %w", p.session.SessionID, err)
	}
	return out.Flush()
}

// Preview lists the places that the redaction would remove, without the text itself.
func (p Prepared) Preview(ctx context.Context) (Found, error) {
	p.r.found = Found{Places: []Place{}}
	err := p.session.each(ctx, p.r, func(event.Event) error {
		p.r.found.Events++
		return nil
	})
	if err != nil {
		return Found{}, fmt.Errorf("look through session %s: %w", p.session.SessionID, err)
	}
	return p.r.found, nil
}

// each hands every event to f, redacted.
func (s Session) each(ctx context.Context, r *redactor, f func(event.Event) error) error {
	return s.read(ctx, func(g event.Header) error {
		e, err := g.Event()
		if err != nil {
			return err
		}
		e.Data = slices.Clone(e.Data) // which outlives the batch
		if e, err = r.event(e); err != nil {
			return err
		}
		return f(e)
	})
}

// read hands every event to f as the log has it.
func (s Session) read(ctx context.Context, f func(event.Header) error) error {
	return observer.New(observer.UpTo(s.Log, s.Last), observer.Each(f), s.First-1, batchBytes).CatchUp(ctx)
}

// lines writes the events, one a line. Without a redaction they are as the log has them.
func (s Session) lines(ctx context.Context, w io.Writer, r *redactor) error {
	if !r.any() {
		return s.read(ctx, func(g event.Header) error {
			_, err := w.Write(append(slices.Clone(g.JSON), '\n'))
			return err
		})
	}
	return s.each(ctx, r, func(e event.Event) error {
		line, err := lineOf(e)
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		return err
	})
}

// lineOf encodes an event as a log has it.
func lineOf(e event.Event) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), err
}

// zip writes everything there is of the session. Blobs cannot be redacted, so that
// they are left out where anything else is.
func (s Session) zip(ctx context.Context, w io.Writer, r *redactor) error {
	archive := zip.NewWriter(w)
	events, err := archive.Create("events.jsonl")
	if err != nil {
		return err
	}
	if err := s.lines(ctx, events, r); err != nil {
		return err
	}
	for _, f := range s.Files {
		part, err := archive.Create(f.Name)
		if err != nil {
			return err
		}
		data, err := r.file(f.Data)
		if err == nil {
			_, err = part.Write(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if r.any() {
		return archive.Close()
	}
	for _, sha := range s.Blobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.blob(archive, sha); err != nil {
			return fmt.Errorf("blob %s: %w", sha, err)
		}
	}
	return archive.Close()
}

func (s Session) blob(archive *zip.Writer, sha string) error {
	blob, err := s.OpenBlob(sha)
	if err != nil {
		return err
	}
	defer blob.Close()
	part, err := archive.CreateHeader(&zip.FileHeader{Name: "blobs/" + sha, Method: zip.Deflate})
	if err == nil {
		_, err = io.Copy(part, blob)
	}
	return err
}

// Found are the places that a redaction would remove.
type Found struct {
	Events int `json:"events"`
	// Secrets, Paths and Images count the places, Thoughts and Outputs the events.
	Secrets  int `json:"secrets"`
	Paths    int `json:"paths"`
	Images   int `json:"images"`
	Thoughts int `json:"thoughts"`
	Outputs  int `json:"outputs"`
	// Places are the first of them.
	Places []Place `json:"places"`
}

// Place is an event from which something would be taken away.
type Place struct {
	Seq   event.Seq `json:"seq"`
	What  string    `json:"what"`
	Count int       `json:"count"`
}

// maxPlaces bounds the places of a preview.
const maxPlaces = 200
