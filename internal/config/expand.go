package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// expand replaces ${NAME} in every value of the parsed file. It works on the
// tree, so what a variable holds is text and never becomes YAML.
func (l Loader) expand(node ast.Node) error {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			if err := l.expand(value.Value); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return l.expand(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			if err := l.expand(value); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		return l.expand(n.Value)
	case *ast.TagNode:
		return l.expand(n.Value)
	case *ast.LiteralNode:
		return l.expand(n.Value)
	case *ast.StringNode:
		value, err := l.expandText(n.Value)
		if err != nil {
			return &Error{File: l.Path, Line: n.GetToken().Position.Line, Reason: err.Error()}
		}
		n.Value = value
	}
	return nil
}

func (l Loader) expandText(text string) (string, error) {
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
			return "", fmt.Errorf("${%s has no closing brace (write $${ for the characters themselves)", expr)
		}
		name, fallback, hasFallback := strings.Cut(expr, ":-")
		value, set := lookup(l.Env, name)
		switch {
		case set && (value != "" || !hasFallback):
			out.WriteString(value)
		case hasFallback:
			out.WriteString(fallback)
		default:
			return "", fmt.Errorf("the environment variable %s is not set (${%s:-} allows that)", name, name)
		}
		text = after
	}
}
