// Package tsgen writes the TypeScript types of the events, frames and bodies.
//
// It walks the registries of packages event and wire by reflection, so a new kind
// of event, frame or body reaches the web app without being named twice. Its test keeps
// the generated file current.
package tsgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/export"
	"github.com/abidehub/abide/session/playback"
	"github.com/abidehub/abide/session/state"
)

// Generate returns the TypeScript source for every event payload, frame and body.
func Generate() ([]byte, error) {
	g := &generator{names: map[reflect.Type]string{}}
	g.line("// Generated from the Go structs in session/event and server/wire by `make generate`. Do not edit.")
	g.line("")
	g.line("/** An event's number in its session: from 1, without gaps, never reused. */")
	g.line("export type Seq = number")

	kinds := event.Kinds()
	for _, kind := range kinds {
		g.names[reflect.TypeOf(kind)] = reflect.TypeOf(kind).Name() + "Data"
	}
	for _, messages := range [][]wire.Message{wire.ClientMessages(), wire.ServerMessages()} {
		for _, m := range messages {
			t := reflect.TypeOf(m).Elem()
			g.names[t] = t.Name() + "Message"
		}
	}
	for _, kind := range kinds {
		if err := g.object(reflect.TypeOf(kind), ""); err != nil {
			return nil, err
		}
	}
	g.events(kinds)
	if err := g.messages("ClientMessage", wire.ClientMessages()); err != nil {
		return nil, err
	}
	if err := g.messages("ServerMessage", wire.ServerMessages()); err != nil {
		return nil, err
	}
	// Their names in Go say less without the name of their package.
	g.names[reflect.TypeFor[playback.Turn]()] = "TurnLine"
	g.names[reflect.TypeFor[playback.File]()] = "ChangedLines"
	g.names[reflect.TypeFor[export.Found]()] = "ExportPreview"
	g.names[reflect.TypeFor[export.Place]()] = "ExportPlace"
	for _, body := range wire.Bodies() {
		if _, err := g.name(reflect.TypeOf(body)); err != nil {
			return nil, err
		}
	}
	return g.out.Bytes(), nil
}

// generator emits each type once, those it needs before it.
type generator struct {
	out bytes.Buffer
	// names holds the TypeScript name of every struct and enumeration met.
	names   map[reflect.Type]string
	emitted []reflect.Type
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

func (g *generator) events(kinds []event.Payload) {
	g.line("")
	g.line("export type EventType = %s", union(kinds, func(k event.Payload) string { return quote(string(k.EventType())) }))
	g.line("")
	g.line("export const eventTypes: readonly EventType[] = [%s]",
		join(kinds, ", ", func(k event.Payload) string { return quote(string(k.EventType())) }))
	g.line("")
	g.line("interface EventHead {\n  seq: Seq\n  time: string\n  turn?: number\n  /** Set on a merged run of chunks, which covers first_seq..seq. */\n  first_seq?: Seq\n  /** The line on disk failed its checksum but still reads. */\n  unverified?: boolean\n}")
	g.line("")
	g.line("/** One durable fact of a session, told apart by its type. */")
	g.line("export type AbideEvent =")
	for _, k := range kinds {
		g.line("  | (EventHead & { type: %s; data: %s })", quote(string(k.EventType())), g.names[reflect.TypeOf(k)])
	}
}

func (g *generator) messages(name string, messages []wire.Message) error {
	for _, m := range messages {
		if err := g.object(reflect.TypeOf(m).Elem(), m.MessageType()); err != nil {
			return err
		}
	}
	g.line("")
	g.line("export type %s = %s", name, union(messages, func(m wire.Message) string { return g.names[reflect.TypeOf(m).Elem()] }))
	return nil
}

// object emits the interface of a struct, with a discriminator if it has one.
func (g *generator) object(t reflect.Type, discriminator string) error {
	for _, done := range g.emitted {
		if done == t {
			return nil
		}
	}
	g.emitted = append(g.emitted, t)
	if g.names[t] == "" {
		g.names[t] = t.Name()
	}
	for other, name := range g.names {
		if other != t && name == g.names[t] {
			return fmt.Errorf("%s and %s are both called %s", t, other, name)
		}
	}
	var body strings.Builder
	if discriminator != "" {
		fmt.Fprintf(&body, "  type: %s\n", quote(discriminator))
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" || tag == "-" {
			return fmt.Errorf("%s.%s: no json name", t, f.Name)
		}
		if strings.Contains(options, "omit") {
			tag += "?"
		}
		ts, err := g.name(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		fmt.Fprintf(&body, "  %s: %s\n", tag, ts)
	}
	g.line("")
	g.line("export interface %s {\n%s}", g.names[t], body.String())
	return nil
}

// name returns how a Go type is written in TypeScript, and emits the declarations
// it needs.
func (g *generator) name(t reflect.Type) (string, error) {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[state.LongText]():
		return "string", nil
	case reflect.TypeFor[wire.OptionalTime]():
		return "string | null", nil
	case reflect.TypeFor[json.RawMessage]():
		return "unknown", nil
	case reflect.TypeFor[event.Seq]():
		return "Seq", nil
	case reflect.TypeFor[event.Event]():
		return "AbideEvent", nil
	case reflect.TypeFor[event.Text]():
		ref, err := g.name(reflect.TypeFor[event.BlobRef]())
		return "string | " + ref, err
	}
	if set, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return g.enumeration(t, set.Values()), nil
	}
	switch t.Kind() {
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number", nil
	case reflect.Interface:
		return "unknown", nil
	case reflect.Pointer:
		return g.name(t.Elem())
	case reflect.Array:
		elem, err := g.name(t.Elem())
		return "[" + strings.Repeat(elem+", ", t.Len()-1) + elem + "]", err
	case reflect.Slice:
		elem, err := g.name(t.Elem())
		return elem + "[]", err
	case reflect.Map:
		elem, err := g.name(t.Elem())
		return "Record<string, " + elem + ">", err
	case reflect.Struct:
		err := g.object(t, "")
		return g.names[t], err
	}
	return "", fmt.Errorf("no TypeScript for %s", t)
}

func (g *generator) enumeration(t reflect.Type, values []string) string {
	if name, ok := g.names[t]; ok {
		return name
	}
	name := t.Name()
	if t == reflect.TypeFor[wire.SessionStatus]() {
		name = "SessionStatus" // Status in package state
	}
	g.names[t] = name
	g.line("")
	g.line("export type %s = %s", name, union(values, quote))
	return name
}

func quote(s string) string { return "'" + s + "'" }

func union[T any](items []T, one func(T) string) string { return join(items, " | ", one) }

func join[T any](items []T, separator string, one func(T) string) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = one(item)
	}
	return strings.Join(parts, separator)
}
