package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// LiteralSecrets are the places in a configuration's text where a value that sounds
// like a secret is written out, rather than named as ${VARIABLE}. It returns paths,
// such as agents.claude.env.API_KEY, and never the values.
func LiteralSecrets(text []byte) []string {
	var root any
	if yaml.Unmarshal(asHere(text), &root) != nil {
		return nil
	}
	var found []string
	walk("", root, func(path, name, value string) {
		if soundsSecret(name) && value != "" && !strings.Contains(value, "${") {
			found = append(found, path)
		}
	})
	return found
}

// walk calls visit for each text below node, in the order of the paths.
func walk(path string, node any, visit func(path, name, value string)) {
	switch node := node.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if text, ok := node[name].(string); ok {
				visit(at, name, text)
			}
			walk(at, node[name], visit)
		}
	case []any:
		for i, item := range node {
			walk(fmt.Sprintf("%s[%d]", path, i), item, visit)
		}
	}
}

func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "password", "passwd", "credential", "authorization", "cookie"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
