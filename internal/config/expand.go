package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Lengths from which on a variable's value is hidden: hiding shorter ones would
// only garble messages. For a name like PASSWORD or TOKEN a shorter length is
// enough.
const (
	shortestHidden = 6
	shortestSecret = 3
)

var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`)

// expansion puts the environment into a parsed file, and keeps their values out of
// messages about the file: they are likely to be secrets.
type expansion struct {
	loader Loader
	put    map[string]string // the text in the file, by the value
}

// hide returns err with variables' names in place of their values.
func (x *expansion) hide(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) {
		return err
	}
	wrong.Reason = x.unexpanded(wrong.Reason)
	return err
}

// unexpanded puts variables' names in place of their values.
func (x *expansion) unexpanded(text string) string {
	values := slices.Collect(maps.Keys(x.put))
	// The longest first, so that one within another leaves no rest.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		quoted := strconv.Quote(value)
		for _, shown := range []string{quoted[1 : len(quoted)-1], value} {
			text = strings.ReplaceAll(text, shown, x.put[value])
		}
	}
	return text
}

// expand replaces ${NAME} in every value of the parsed file. It works on the tree,
// so a variable's value is text and never becomes YAML.
func (x *expansion) expand(node ast.Node) error {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			if err := x.expand(value.Value); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return x.expand(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			if err := x.expand(value); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		return x.expand(n.Value)
	case *ast.TagNode:
		return x.expand(n.Value)
	case *ast.LiteralNode:
		return x.expand(n.Value)
	case *ast.StringNode:
		value, err := x.expandText(n.Value)
		if err != nil {
			return &Error{File: x.loader.Path, Line: n.GetToken().Position.Line, Reason: err.Error()}
		}
		n.Value = value
	}
	return nil
}

func (x *expansion) expandText(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(escaped + "${")
			text = rest
			continue
		}
		out.WriteString(before)
		expr, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("${%s has no closing brace (write $${ for the characters themselves)", leadingName(expr))
		}
		name, fallback, hasFallback := strings.Cut(expr, ":-")
		value, set := lookup(x.loader.Env, name)
		switch {
		case set && (value != "" || !hasFallback):
			if len(value) >= shortestHidden || len(value) >= shortestSecret && secretName.MatchString(name) {
				x.put[value] = "${" + name + "}"
			}
			out.WriteString(value)
		case hasFallback:
			out.WriteString(fallback)
		default:
			return "", fmt.Errorf("the environment variable %s is not set (${%s:-} allows that)", name, name)
		}
		text = after
	}
}

// leadingName is the beginning of text that can be a variable's name: the rest may
// be anything, also a secret.
func leadingName(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if end < 0 {
		return text
	}
	return text[:end]
}
