package redact

import (
	"encoding/json"
	"strings"
)

// Text redacts a text.
func (r *Redactor) Text(s string) string {
	if r.parts.Secrets {
		s = r.withoutSecrets(r.inner(s))
	}
	if r.parts.Images {
		s = r.pictures.ReplaceAllStringFunc(s, func(string) string { r.Count.Images++; return gone })
	}
	if r.parts.Paths {
		var cuts []cut
		for _, v := range views(s) {
			for _, c := range r.paths.find(v.text) {
				c.from, c.to = v.source(c.from, c.to)
				cuts = append(cuts, c)
			}
		}
		var n int
		s, n = cutOut(s, cuts)
		r.Count.Paths += n
	}
	return s
}

// withoutSecrets removes the secrets in a text, and learns them.
func (r *Redactor) withoutSecrets(s string) string {
	var cuts []cut
	for _, v := range views(s) {
		found := find(r.judge, v.text)
		for _, at := range found {
			r.learn(v.text[at.from:at.to])
		}
		for _, at := range append(found, r.known.find(v.text)...) {
			from, to := v.source(at.from, at.to)
			cuts = append(cuts, cut{span{from, to}, gone})
		}
	}
	s, n := cutOut(s, cuts)
	r.Count.Secrets += n
	return s
}

// inner redacts JSON in a text member by member: all of it, or what begins with a brace.
func (r *Redactor) inner(s string) string {
	const mostTries = 8
	start := len(s) - len(strings.TrimLeft(s, " \t\r\n"))
	for try := 0; try < mostTries && start < len(s); try++ {
		if try > 0 || strings.IndexByte(`{["`, s[start]) < 0 {
			next := strings.IndexAny(s[start:], "{[")
			if next < 0 {
				break
			}
			start += next
		}
		without, n := r.json(s[start:])
		if n == 0 {
			start++
			continue
		}
		s = s[:start] + without + s[start+n:]
		start += len(without)
	}
	return s
}

// json redacts the JSON that a text begins with, and returns its length; 0 if there is none.
func (r *Redactor) json(s string) (string, int) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return "", 0
	}
	n := int(d.InputOffset())
	before := r.Count.Secrets
	if v = r.value(v, within{}); r.Count.Secrets == before {
		return s[:n], n
	}
	out, err := plainJSON(v)
	if err != nil {
		return "", 0
	}
	return out, n
}

// plainJSON encodes a value without escaping HTML.
func plainJSON(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// edges redacts a text that was cut from another, where a value is cut too.
func (r *Redactor) edges(s string) string {
	const least = 4
	body := strings.TrimRight(s, "….")
	start := len(s) - len(strings.TrimLeft(s, "…."))
	if start >= len(body) {
		return s
	}
	if r.removed[strings.TrimSpace(body[start:])] {
		r.Count.Secrets++
		return s[:start] + gone + s[len(body):]
	}
	if r.known == nil {
		return s
	}
	if len(body) < len(s) || len(s) >= mostHead {
		for n := min(mostHead-1, len(body)); n >= least; n-- {
			if r.known.begins(body[len(body)-n:]) {
				r.Count.Secrets++
				s = body[:len(body)-n] + gone + s[len(body):]
				break
			}
		}
	}
	return s
}
