// Package redact removes secrets, paths and pictures from texts and JSON.
//
// A secret is known by its form, by its name or by having been found elsewhere. One judge
// decides of a name and its value together; JSON, text, headers, arguments, addresses and
// tables ask it. Texts are read as a person sees them, and with their escapes resolved.
// Each step takes linear time.
package redact

import (
	"regexp"
	"strings"
)

// Parts are what a Redactor removes.
type Parts struct {
	// Secrets are passwords, tokens and keys, Paths the names of directories and files,
	// Images pictures.
	Secrets, Paths, Images bool
}

// Count counts the places from which something was removed.
type Count struct{ Secrets, Paths, Images int }

// Redactor redacts texts and JSON, and learns the values of secrets in them. One
// goroutine uses it.
type Redactor struct {
	// Count is of what was removed; its user resets it.
	Count Count

	parts    Parts
	judge    *judge
	paths    *pathFinder
	pictures *regexp.Regexp
	values   map[string]bool // of secrets, by which they are found elsewhere
	removed  map[string]bool // values, also those that may be words
	known    *known          // the values; nil while they are learned
}

// New returns a Redactor that has learned nothing. The directories are those of a
// session: paths below them keep their ends.
func New(parts Parts, dirs ...string) *Redactor {
	return &Redactor{
		parts: parts, judge: newJudge(), values: map[string]bool{}, removed: map[string]bool{},
		pictures: regexp.MustCompile(`data:image/[a-zA-Z0-9.+-]+;base64,[A-Za-z0-9+/=]+`),
		paths:    newPathFinder(dirs...),
	}
}

// Learner returns a Redactor with a count of its own, from which r learns.
func (r *Redactor) Learner() *Redactor {
	learner := *r
	learner.Count = Count{}
	return &learner
}

// Search makes the values that were learned be removed wherever they are.
func (r *Redactor) Search() { r.known = newKnown(r.values) }

// Value redacts JSON as encoding/json decodes it with json.Number. It changes v.
func (r *Redactor) Value(v any) any { return r.value(v, within{}) }

// Object is Value of an object.
func (r *Redactor) Object(v map[string]any) map[string]any { return r.object(v, within{}) }

// Excerpt is Value of JSON whose texts may be cut from others, in the middle of a secret.
func (r *Redactor) Excerpt(v any) any { return r.value(v, within{cut: true}) }

// learn remembers the value of a secret and its parts: behind a scheme, of the pairs of a
// cookie, and what base64 says.
func (r *Redactor) learn(value string) {
	r.remember(value)
	const most = 64
	for i, piece := range strings.FieldsFunc(value[:min(len(value), mostValue)], func(c rune) bool { return strings.ContainsRune(" ;,\"'\n/:@|&", c) }) {
		if i == most {
			break
		}
		if _, of, ok := strings.Cut(strings.TrimRight(piece, "="), "="); ok {
			if kindsOf(of).random() {
				r.remember(of)
			}
			continue
		}
		if piece != value && kindsOf(piece).random() {
			r.remember(piece)
		}
		if plain, ok := decode64(piece); ok && len(piece) >= leastKnown && strings.IndexFunc(plain, func(c rune) bool { return c < ' ' || c > '~' }) < 0 {
			r.remember(plain)
			if _, password, ok := strings.Cut(plain, ":"); ok {
				r.remember(password)
			}
		}
	}
}

// remember keeps a value that is looked for elsewhere, unless it may be a word as well.
func (r *Redactor) remember(value string) {
	value = strings.TrimSpace(value)
	if len(value) < mostHead && len(r.removed) < mostKnown {
		r.removed[value] = true
	}
	k := kindsOf(value)
	if len(value) < leastKnown || len(r.values) >= mostKnown || k.letters+k.dots == len(value) && len(value) < 12 ||
		isPlace(value) || r.judge.name(value) != noSecret && k.digits == 0 {
		return
	}
	if len(value) > mostHead {
		value = value[:mostHead]
	}
	r.values[value] = true
}
