package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Field is one value that a form asks for.
type Field struct {
	Name     string
	Required bool
	// Default is the value of an empty line, or nil.
	Default any

	title, about, kind string
	limits             string
	within             property
	choices            []fieldChoice
	many               bool
}

type fieldChoice struct{ value, title string }

// property is one value's part of a form's JSON schema.
type property struct {
	Type                 string
	Title, Description   string
	Default              any
	Enum                 []any
	EnumNames            []string
	OneOf, AnyOf         []struct{ Const, Title string }
	Items                *property
	Minimum, Maximum     *json.Number
	MinLength, MaxLength *json.Number
	MinItems, MaxItems   *json.Number
	Format               string
}

// Fields reads the JSON schema of a flat object, in its own order. A property of
// a kind that it does not know is a text.
func Fields(form json.RawMessage) []Field {
	var schema struct {
		Required   []string
		Properties json.RawMessage
	}
	if json.Unmarshal(form, &schema) != nil {
		return nil
	}
	var fields []Field
	for _, name := range keys(schema.Properties) {
		var all map[string]json.RawMessage
		var p property
		_ = json.Unmarshal(schema.Properties, &all) // keys has read it
		_ = json.Unmarshal(all[name], &p)           // an invalid property is a text
		fields = append(fields, newField(name, slices.Contains(schema.Required, name), p))
	}
	return fields
}

// keys are the names in a JSON object, in its order.
func keys(object json.RawMessage) []string {
	in := json.NewDecoder(bytes.NewReader(object))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var names []string
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return nil
		}
		if text := name.(string); !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return names
}

func newField(name string, required bool, p property) Field {
	f := Field{Name: name, Required: required, Default: p.Default, title: p.Title, about: p.Description, kind: p.Type, within: p}
	if f.title == "" {
		f.title = name
	}
	f.limits = between(p.Minimum, p.Maximum, "") + between(p.MinLength, p.MaxLength, " characters") + between(p.MinItems, p.MaxItems, " of them")
	of := p
	if f.many = p.Type == "array"; f.many && p.Items != nil {
		of = *p.Items
	}
	for i, value := range of.Enum {
		text, ok := value.(string)
		if !ok {
			continue
		}
		c := fieldChoice{text, text}
		if i < len(of.EnumNames) {
			c.title = of.EnumNames[i]
		}
		f.choices = append(f.choices, c)
	}
	for _, c := range append(of.OneOf, of.AnyOf...) {
		if c.Title == "" {
			c.Title = c.Const
		}
		f.choices = append(f.choices, fieldChoice{c.Const, c.Title})
	}
	return f
}

func between(least, most *json.Number, of string) string {
	switch {
	case least != nil && most != nil:
		return ", " + least.String() + " to " + most.String() + of
	case least != nil:
		return ", at least " + least.String() + of
	case most != nil:
		return ", at most " + most.String() + of
	}
	return ""
}

// String describes in one line the field's values, and the meaning of an empty
// line.
func (f Field) String() string {
	empty := ""
	switch {
	case f.Default != nil:
		empty = "; empty: " + f.told(f.Default)
	case !f.Required:
		empty = "; may be empty"
	}
	about := ""
	if f.about != "" {
		about = " — " + f.about
	}
	return Line(f.title + " (" + f.takes() + f.limits + empty + ")" + about)
}

func (f Field) takes() string {
	if len(f.choices) > 0 {
		var names []string
		for i, c := range f.choices {
			names = append(names, strconv.Itoa(i+1)+" "+c.title)
		}
		takes := strings.Join(names, " · ")
		if f.many {
			takes += ", several with commas"
		}
		return takes
	}
	switch {
	case f.many:
		return "texts with commas"
	case f.kind == "boolean":
		return "yes or no"
	case f.kind == "integer":
		return "a whole number"
	case f.kind == "number":
		return "a number"
	}
	return "a text"
}

// told is a value as a person reads it.
func (f Field) told(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		for _, c := range f.choices {
			if c.value == v {
				return c.title
			}
		}
		return v
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, f.told(one))
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(value)
}

// Read makes the field's value of a typed line. An empty line is the default, and
// nil where there is none.
func (f Field) Read(typed string) (any, error) {
	if typed = strings.TrimSpace(typed); typed == "" {
		if f.Default == nil && f.Required {
			return nil, fmt.Errorf("%s is needed", Line(f.title))
		}
		return f.Default, nil
	}
	switch {
	case f.many:
		list := []any{}
		for part := range strings.SplitSeq(typed, ",") {
			value, err := f.one(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, f.fits(float64(len(list)), f.within.MinItems, f.within.MaxItems, " of them")
	case len(f.choices) > 0:
		return f.one(typed)
	case f.kind == "boolean":
		return truth(typed)
	case f.kind == "integer":
		number, err := strconv.ParseInt(typed, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", typed)
		}
		return number, f.fits(float64(number), f.within.Minimum, f.within.Maximum, "")
	case f.kind == "number":
		number, err := strconv.ParseFloat(typed, 64)
		if data, bad := json.Marshal(number); err == nil && bad == nil {
			return json.Number(data), f.fits(number, f.within.Minimum, f.within.Maximum, "")
		}
		return nil, fmt.Errorf("%q is not a number", typed)
	}
	if err := f.fits(float64(utf8.RuneCountInString(typed)), f.within.MinLength, f.within.MaxLength, " characters"); err != nil {
		return nil, err
	}
	return typed, formed(typed, f.within.Format)
}

// fits checks a number against the limits of a field, of which it is a count.
func (f Field) fits(n float64, least, most *json.Number, of string) error {
	for _, limit := range []struct {
		at   *json.Number
		over func(at float64) bool
	}{{least, func(at float64) bool { return n < at }}, {most, func(at float64) bool { return n > at }}} {
		if limit.at == nil {
			continue
		}
		if at, err := limit.at.Float64(); err == nil && limit.over(at) {
			return fmt.Errorf("%s takes%s", Line(f.title), strings.TrimPrefix(between(least, most, of), ","))
		}
	}
	return nil
}

// formed checks the form of a text.
func formed(text, format string) error {
	var err error
	words := ""
	switch format {
	case "email":
		words = "an address such as ann@example.org"
		_, err = mail.ParseAddress(text)
	case "uri":
		words = "an address such as https://example.org"
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.ErrUnsupported
		}
	case "date":
		words = "a date such as 2026-02-21"
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		words = "a time such as 2026-02-21T14:00:00Z"
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("%q is not %s", text, words)
	}
	return nil
}

// one is the choice that a person means by its number, value or title.
func (f Field) one(typed string) (any, error) {
	if len(f.choices) == 0 {
		return typed, nil
	}
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.choices) {
		return f.choices[n-1].value, nil
	}
	for _, c := range f.choices {
		if c.value == typed || strings.EqualFold(c.title, typed) {
			return c.value, nil
		}
	}
	return nil, fmt.Errorf("%q is not one of the %d choices", typed, len(f.choices))
}

func truth(typed string) (any, error) {
	switch strings.ToLower(typed) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither yes nor no", typed)
}
