package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/abidehub/abide/session/state"
)

// openAPIRoute serves the document generated from the routes.
func openAPIRoute() route {
	self := route{
		"GET", "/api/openapi.json", auth.Credential, auth.Read, true, nil,
		doc{summary: "This document.", out: map[string]any{}, status: 200},
	}
	all := append(routes(), self)
	self.handle = func(_ *API, c *call) error { return c.reply(http.StatusOK, openAPI(all)) }
	return self
}

// object is a JSON object of the document.
type object = map[string]any

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// openAPI describes routes in OpenAPI 3.1. The Go types that are decoded and
// encoded describe the bodies, so the document cannot differ from the code.
func openAPI(list []route) object {
	s := schemas{named: object{}, types: map[string]reflect.Type{}}
	paths := object{}
	for _, r := range list {
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = s.operation(r)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "abide", "version": "1",
			"description": "The HTTP side of the hub. Host and Origin are checked on every route; a credential is a Bearer token, or a device's cookie with its page token.",
		},
		"paths": paths,
		"components": object{
			"schemas": s.named,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": "abide-<hub id>"},
				"page":   object{"type": "apiKey", "in": "header", "name": auth.PageHeader},
			},
		},
	}
}

// schemas collects the JSON schemas of Go types.
type schemas struct {
	named object
	// types are those of the names.
	types map[string]reflect.Type
}

func (s schemas) operation(r route) object {
	d := r.doc
	var params []object
	for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range d.query {
		params = append(params, s.parameter("query", p))
	}
	for _, p := range d.headers {
		params = append(params, s.parameter("header", p))
	}
	op := object{"summary": d.summary, "responses": s.responses(d)}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if d.in != nil {
		op["requestBody"] = object{"content": object{"application/json": object{"schema": s.of(reflect.TypeOf(d.in))}}}
	}
	op["security"] = []object{}
	if r.gate == auth.Credential {
		op["security"] = []object{{"bearer": []string{}}, {"cookie": []string{}, "page": []string{}}}
		op["x-scope"] = leastScope(r)
	}
	return op
}

// leastScope returns the lowest scope that a route admits.
func leastScope(r route) auth.Scope {
	switch {
	case r.filtered || r.verb == auth.Read:
		return auth.Viewer
	case r.verb == auth.Act:
		return auth.Collaborator
	}
	return auth.Owner
}

func (s schemas) parameter(in string, p param) object {
	return object{"name": p.name, "in": in, "description": p.about, "schema": s.of(reflect.TypeOf(p.value))}
}

func (s schemas) responses(d doc) object {
	success := object{"description": http.StatusText(d.status)}
	content := object{}
	if d.out != nil {
		content["application/json"] = object{"schema": s.of(reflect.TypeOf(d.out))}
	}
	if d.stream != "" {
		content[d.stream] = object{}
	}
	if len(content) > 0 {
		success["content"] = content
	}
	answers := object{
		fmt.Sprint(d.status): success,
		"default": object{
			"description": "Refused; the code says why.",
			"content":     object{"application/json": object{"schema": s.of(reflect.TypeFor[wire.Refused]())}},
		},
	}
	if d.repeated != 0 {
		answers[fmt.Sprint(d.repeated)] = success
	}
	return answers
}

// of returns a type's schema. Structs are described once and referenced.
func (s schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[state.LongText]():
		return object{"type": "string"}
	case reflect.TypeFor[wire.OptionalTime]():
		return object{"type": []string{"string", "null"}, "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[event.Seq]():
		return object{"type": "integer", "format": "int64", "minimum": 0}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.String:
		schema := object{"type": "string"}
		if set, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
			schema["enum"] = set.Values()
		}
		return schema
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	}
	return object{} // any value
}

func (s schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return object{"type": "object"} // a response without content
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other := s.types[name]; other != nil && other != t { // the same name in another package
		name = strings.ToUpper(path.Base(t.PkgPath())[:1]) + path.Base(t.PkgPath())[1:] + name
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := s.named[name]; done {
		return ref
	}
	s.types[name] = t
	properties, required := object{}, []string{}
	s.named[name] = object{} // so that a recursive type ends
	s.fields(t, properties, &required)
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	s.named[name] = schema
	return ref
}

func (s schemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
			continue
		case !f.IsExported(), name == "-":
			continue
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
