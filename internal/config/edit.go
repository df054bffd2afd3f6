package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/abidehub/abide/internal/disk"
)

// Entry is what Add writes: one item of a list, or one key of a mapping, below an
// option of the file.
type Entry struct {
	// Option is the option, a key at the file's top, such as workspaces.
	Option string
	// Name is the key below it; empty appends to a list.
	Name string
	// Value is the YAML of the value, in one line.
	Value string
}

// Lines are the lines that a person would add to a file without the option.
func (e Entry) Lines() string { return e.Option + ":\n  " + e.block() + "\n" }

func (e Entry) block() string {
	if e.Name == "" {
		return "- " + e.Value
	}
	return e.Name + ": " + e.Value
}

func (e Entry) flow() string {
	if e.Name == "" {
		return e.Value
	}
	return e.Name + ": " + e.Value
}

// EditError says why the file was not changed, and the lines to add by hand.
type EditError struct {
	File  string
	Lines string
	Err   error
}

// Unwrap returns the cause.
func (e *EditError) Unwrap() error { return e.Err }

// Error implements error.
func (e *EditError) Error() string {
	return fmt.Sprintf("%s was not changed (%v): add the lines by hand", e.File, e.Err)
}

// Reasons why a file is not edited.
var (
	errChanged  = errors.New("another program changed it at the same time")
	errForm     = errors.New("it is written in a form that abide does not edit")
	errNoEffect = errors.New("a variable of the environment or a flag overrides it")
)

// Add writes an entry into the file and returns the configuration with it. It
// inserts the entry's text and leaves every other byte as it is: comments, order and
// line ends. It makes the file where there is none, and replaces it whole. A file
// that would not read back as the old one with the entry is not written; then the
// error is an *EditError. holds reports whether the entry is in a configuration.
func (l Loader) Add(e Entry, holds func(Config) bool) (c Config, err error) {
	refuse := func(err error) (Config, error) {
		return Config{}, &EditError{File: l.Path, Lines: e.Lines(), Err: plainCause(err)}
	}
	path, err := l.target()
	if err != nil {
		return refuse(err)
	}
	before, err := readOrNothing(path)
	if err != nil {
		return refuse(err)
	}
	if _, err := l.parse(before); err != nil {
		return Config{}, err // the file's own fault, with its line
	}
	after, err := insert(before, e)
	if err != nil {
		return refuse(err)
	}
	if c, err = l.parse(after); err != nil {
		return refuse(errForm)
	}
	if !holds(c) {
		return refuse(errNoEffect)
	}
	if now, err := readOrNothing(path); err != nil || !bytes.Equal(now, before) {
		return refuse(errChanged)
	}
	if err := replaceFile(path, after); err != nil {
		return refuse(err)
	}
	return c, nil
}

// target is the file itself, behind any link, and its directory exists.
func (l Loader) target() (string, error) {
	path := l.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, os.MkdirAll(filepath.Dir(path), 0o700)
}

func readOrNothing(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// replaceFile keeps the file's mode: others may be meant to read it.
func replaceFile(path string, data []byte) error {
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if mode&0o200 == 0 {
			return fs.ErrPermission // a rename would not ask
		}
	}
	err := disk.ReplaceAmong(disk.OS(), path, data)
	if err != nil && !errors.Is(err, disk.ErrNotDurable) {
		return err
	}
	return os.Chmod(path, mode)
}

// plainCause leaves out the paths of an error, as the sentence around it has one.
func plainCause(err error) error {
	for _, known := range []error{fs.ErrPermission, fs.ErrNotExist} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

// insert returns text with the entry in it, or errForm.
func insert(text []byte, e Entry) ([]byte, error) {
	if rest, marked := bytes.CutPrefix(text, []byte(byteOrderMark)); marked {
		after, err := insert(rest, e)
		return append([]byte(byteOrderMark), after...), err
	}
	// The parser's positions are right for lines that end with LF.
	if n := bytes.Count(text, []byte("\r\n")); n > 0 && n == bytes.Count(text, []byte("\n")) {
		after, err := insert(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), e)
		return bytes.ReplaceAll(after, []byte("\n"), []byte("\r\n")), err
	}
	root, err := rootOf(text)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(strings.Lines(string(text)))
	values := root.values()
	at := slices.IndexFunc(values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == e.Option })
	if at < 0 {
		lines = appendOption(lines, e.Lines())
	} else if lines, err = insertBelow(lines, values, at, e); err != nil {
		return nil, err
	}
	after := []byte(strings.Join(lines, ""))
	if !addsOnly(text, after, e) {
		return nil, errForm
	}
	return after, nil
}

// insertBelow puts an entry below the option at values[at].
func insertBelow(lines []string, values []*ast.MappingValueNode, at int, e Entry) ([]string, error) {
	keyLine := values[at].Key.GetToken().Position.Line
	switch value := values[at].Value.(type) {
	case *ast.NullNode:
		return putAfter(lines, keyLine, "  "+e.block()), nil
	case *ast.SequenceNode:
		if value.IsFlowStyle {
			return insertFlow(lines, value.End.Position.Line, value.End.Position.Column, e, len(value.Values) == 0)
		}
		return putAfter(lines, lastLine(lines, values, at), indentOf(lines, value.Start.Position.Line)+e.block()), nil
	case *ast.MappingNode:
		if value.IsFlowStyle {
			return insertFlow(lines, value.End.Position.Line, value.End.Position.Column, e, len(value.Values) == 0)
		}
		return putAfter(lines, lastLine(lines, values, at), indentOf(lines, value.Values[0].Key.GetToken().Position.Line)+e.block()), nil
	case *ast.MappingValueNode:
		return putAfter(lines, lastLine(lines, values, at), indentOf(lines, value.Key.GetToken().Position.Line)+e.block()), nil
	}
	return nil, errForm
}

// appendOption puts an option at the file's end.
func appendOption(lines []string, option string) []string {
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	if len(lines) > 0 {
		option = "\n" + option
	}
	return append(lines, option)
}

// lastLine is the number of the last line of the option at values[at]: comments that
// begin a line, and empty lines, in front of the next option belong to that one.
func lastLine(lines []string, values []*ast.MappingValueNode, at int) int {
	last := len(lines)
	if at+1 < len(values) {
		last = values[at+1].Key.GetToken().Position.Line - 1
	}
	for last > 0 && (strings.TrimSpace(lines[last-1]) == "" || strings.HasPrefix(lines[last-1], "#")) {
		last--
	}
	return last
}

// putAfter puts a line after the line of a number.
func putAfter(lines []string, number int, line string) []string {
	if !strings.HasSuffix(lines[number-1], "\n") {
		lines[number-1] += "\n"
		return slices.Insert(lines, number, line)
	}
	return slices.Insert(lines, number, line+"\n")
}

// insertFlow puts an entry in front of the bracket that closes a list or mapping.
func insertFlow(lines []string, number, column int, e Entry, empty bool) ([]string, error) {
	if number < 1 || number > len(lines) {
		return nil, errForm
	}
	runes := []rune(lines[number-1])
	if column < 1 || column > len(runes) || !strings.ContainsRune("]}", runes[column-1]) {
		return nil, errForm
	}
	before, after := string(runes[:column-1]), string(runes[column-1:])
	kept := strings.TrimRight(before, " \t")
	switch {
	case kept == "" && !empty:
		return nil, errForm // the bracket has a line of its own
	case !empty && !strings.HasSuffix(kept, ","):
		kept += ","
	}
	if !empty {
		kept += " "
	}
	lines[number-1] = kept + e.flow() + before[len(strings.TrimRight(before, " \t")):] + after
	return lines, nil
}

func indentOf(lines []string, number int) string {
	line := lines[number-1]
	return line[:len(line)-len(strings.TrimLeft(line, " "))]
}

// root is the file's mapping; nil for a file without options.
type root struct{ node ast.Node }

func rootOf(text []byte) (root, error) {
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil || len(parsed.Docs) > 1 {
		return root{}, errForm
	}
	if len(parsed.Docs) == 0 || parsed.Docs[0].Body == nil {
		return root{}, nil
	}
	return root{parsed.Docs[0].Body}, nil
}

func (r root) values() []*ast.MappingValueNode {
	switch node := r.node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

// addsOnly reports whether after reads as before with the entry, and as no more.
func addsOnly(before, after []byte, e Entry) bool {
	var was, is map[string]any
	var value any
	if yaml.Unmarshal(before, &was) != nil || yaml.Unmarshal(after, &is) != nil || yaml.Unmarshal([]byte(e.Value), &value) != nil {
		return false
	}
	if was == nil {
		was = map[string]any{}
	}
	if e.Name == "" {
		list, ok := was[e.Option].([]any)
		if !ok && was[e.Option] != nil {
			return false
		}
		was[e.Option] = append(list, value)
		return reflect.DeepEqual(was, is)
	}
	mapping, ok := was[e.Option].(map[string]any)
	if !ok && was[e.Option] != nil {
		return false
	}
	if _, known := mapping[e.Name]; known {
		return false
	}
	if mapping == nil {
		mapping = map[string]any{}
	}
	mapping[e.Name] = value
	was[e.Option] = mapping
	return reflect.DeepEqual(was, is)
}

var plainText = regexp.MustCompile(`^(--?|~?/|~)?[A-Za-z0-9_][A-Za-z0-9_./@+-]*$`)

// Text is the YAML of a text, in one line, which names no variable.
func Text(s string) string {
	s = strings.ReplaceAll(s, "${", "$${")
	var back any
	if plainText.MatchString(s) && yaml.Unmarshal([]byte(s), &back) == nil && back == any(s) {
		return s
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSpace(out.String())
}
