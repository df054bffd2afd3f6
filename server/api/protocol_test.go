package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

var update = flag.Bool("update", false, "rewrite the routes in docs/protocol.md")

const (
	routesBegin = "<!-- routes: generated from server/api -->\n"
	routesEnd   = "<!-- end of routes -->\n"
)

// The HTTP half of the document is written from the rows, so it cannot differ.
func TestTheProtocolDocumentHasTheRoutesAsTheyAre(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "protocol.md")
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(document), routesBegin)
	require.True(t, found)
	_, after, found := strings.Cut(rest, routesEnd)
	require.True(t, found)
	current := before + routesBegin + protocol(sections()) + routesEnd + after
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(current), 0o644))
		return
	}
	require.True(t, current == string(document), "docs/protocol.md is not current: run `make generate`")
}

func TestNoCellOfTheProtocolDocumentIsLong(t *testing.T) {
	for line := range strings.SplitSeq(protocol(sections()), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(line, "|") {
			require.LessOrEqual(t, len(strings.Fields(cell)), 60, "write a paragraph instead: %s", cell)
		}
	}
}

func TestEveryBodyIsOneOfPackageWire(t *testing.T) {
	var bodies []reflect.Type
	for _, b := range wire.Bodies() {
		bodies = append(bodies, reflect.TypeOf(b))
	}
	used := map[reflect.Type]bool{}
	for _, r := range routes() {
		for _, b := range []any{r.doc.in, r.doc.out} {
			kind := reflect.TypeOf(b)
			if b == nil || kind == reflect.TypeFor[struct{}]() || kind.PkgPath() == reflect.TypeFor[event.Seq]().PkgPath() {
				continue
			}
			require.Contains(t, bodies, kind, "%s %s: %s is not in wire.Bodies", r.method, r.path, kind)
			used[kind] = true
		}
	}
	for _, kind := range bodies {
		if kind != reflect.TypeFor[wire.Refused]() && kind != reflect.TypeFor[wire.Recording]() {
			require.True(t, used[kind], "no route has the body %s", kind)
		}
	}
}

// protocol describes the routes for people.
func protocol(list []section) string {
	w := bodyWords{done: map[reflect.Type]bool{reflect.TypeFor[event.Event](): true}}
	var out strings.Builder
	for _, s := range list {
		fmt.Fprintf(&out, "\n### %s\n\n| route | for | | body → answer |\n|---|---|---|---|\n", s.title)
		var params []string
		var shapes []string
		for _, r := range s.rows {
			fmt.Fprintf(&out, "| `%s %s` | %s | %s | %s |\n", r.method, r.path, leastWords(r), r.doc.summary, bodyCell(r.doc))
			for _, p := range slices.Concat(r.doc.query, r.doc.headers) {
				params = append(params, fmt.Sprintf("- `%s` of `%s %s`: %s\n", p.name, r.method, strings.Replace(r.path, one, "…", 1), p.about))
			}
			for _, b := range []any{r.doc.in, r.doc.out} {
				if b != nil {
					w.shape(reflect.TypeOf(b), &shapes)
				}
			}
		}
		if len(params) > 0 {
			out.WriteString("\n" + strings.Join(params, ""))
		}
		for _, p := range s.about {
			out.WriteString("\n" + p + "\n")
		}
		if len(shapes) > 0 {
			out.WriteString("\n```ts\n" + strings.Join(shapes, "") + "```\n")
		}
	}
	return out.String() + "\n"
}

// leastWords names the least scope that a route admits.
func leastWords(r route) string {
	if r.gate != auth.Credential {
		return "anyone"
	}
	return string(leastScope(r))
}

// bodyCell says what a route takes and answers.
func bodyCell(d doc) string {
	cell := ""
	if d.in != nil {
		cell = "`" + reflect.TypeOf(d.in).Name() + "` → "
	} else if d.raw {
		cell = "bytes → "
	}
	cell += fmt.Sprint(d.status)
	if d.out != nil && reflect.TypeOf(d.out).Name() != "" {
		cell += " `" + bodyName(reflect.TypeOf(d.out)) + "`"
	}
	if d.stream != "" {
		cell += " or bytes"
	}
	return cell
}

// bodyName is a type's name as in the TypeScript types.
func bodyName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[wire.Overview]():
		return "Overview"
	case reflect.TypeFor[wire.ExportPreview]():
		return "ExportPreview"
	}
	return t.Name()
}

// bodyWords writes each type once, where it is met first.
type bodyWords struct{ done map[reflect.Type]bool }

func (w bodyWords) shape(t reflect.Type, out *[]string) {
	if t.Kind() != reflect.Struct || t.Name() == "" || w.done[t] {
		return
	}
	w.done[t] = true
	if t == reflect.TypeFor[wire.Overview]() {
		return // it has a chapter
	}
	var fields []string
	var inner []reflect.Type
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		if strings.Contains(options, "omit") {
			name += "?"
		}
		fields = append(fields, name+": "+w.word(f.Type, &inner))
	}
	*out = append(*out, fmt.Sprintf("%s { %s }\n", bodyName(t), strings.Join(fields, ", ")))
	for _, t := range inner {
		w.shape(t, out)
	}
}

// word is a type in TypeScript's words. It adds the structs that it names to inner.
func (w bodyWords) word(t reflect.Type, inner *[]reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[state.LongText]():
		return "string"
	case reflect.TypeFor[wire.OptionalTime]():
		return "time | null"
	case reflect.TypeFor[json.RawMessage]():
		return "unknown"
	case reflect.TypeFor[event.Seq]():
		return "Seq"
	}
	if set, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok && len(set.Values()) <= 8 {
		return "'" + strings.Join(set.Values(), "' | '") + "'"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.word(t.Elem(), inner)
	case reflect.Slice, reflect.Array:
		elem := w.word(t.Elem(), inner)
		if strings.Contains(elem, " | ") {
			elem = "(" + elem + ")"
		}
		return elem + "[]"
	case reflect.Map:
		return "Record<string, " + w.word(t.Elem(), inner) + ">"
	case reflect.Struct:
		*inner = append(*inner, t)
		return bodyName(t)
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Interface:
		return "unknown"
	}
	return "number"
}
