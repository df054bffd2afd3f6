package redact

import (
	"encoding/json"
	"strconv"
	"strings"
)

// within is what the JSON around a value says of it.
type within struct {
	as      naming // its name, or that of a list or an object around it
	header  string // its name, if that of a header
	how     manner // it is given to its name
	program string // the command whose arguments it has
	cut     bool   // texts of it are cut from others
	path    bool   // its name says that it is a path
}

// value redacts JSON. Names of members are redacted too.
func (r *Redactor) value(v any, in within) any {
	switch v := v.(type) {
	case string:
		return r.string(v, in)
	case json.Number:
		if r.parts.Secrets && r.judge.value(in.as, v.String(), written) && in.as == isSecret {
			return r.secret(v.String())
		}
	case []any:
		r.list(v, in)
	case map[string]any:
		return r.object(v, in)
	}
	return v
}

// string redacts a text whose name is known.
func (r *Redactor) string(s string, in within) string {
	if r.parts.Secrets && in.as != noSecret {
		switch {
		case in.header != "":
			if from, to := inHeader(r.judge, in.header, s, in.how); to > from {
				r.learn(s[from:to])
				r.Count.Secrets++
				return r.Text(s[:from]) + gone + r.Text(s[to:])
			}
		case r.judge.value(in.as, s, in.how):
			return r.secret(s)
		}
	}
	if in.cut && r.parts.Secrets {
		s = r.edges(s)
	}
	if in.path && r.parts.Paths {
		if out, ok := r.paths.whole(s); ok {
			r.Count.Paths++
			s = out
		}
	}
	return r.Text(s)
}

// secret redacts a value that is one as a whole.
func (r *Redactor) secret(value string) string {
	r.learn(value)
	r.Count.Secrets++
	return gone
}

// inHeader returns the secret in the value of a header.
func inHeader(j *judge, header, value string, how manner) (from, to int) {
	f := &finder{judge: j, text: strconv.Quote(value)}
	if strings.ContainsAny(value, "\"\\\n") { // then its quotes say nothing
		f.text = "\"" + strings.Map(func(c rune) rune {
			if c == '"' || c == '\\' || c == '\n' || c > '~' {
				return '.'
			}
			return c
		}, value) + "\""
		if len(f.text) != len(value)+2 {
			return 0, len(value)
		}
	}
	f.headerValue(header, isSecret, 0, how)
	if len(f.found) == 0 {
		return 0, 0
	}
	return min(f.found[0].from-1, len(value)), min(f.found[0].to-1, len(value))
}

// list redacts a list: of arguments, of names and values in turn, of values of one name.
func (r *Redactor) list(v []any, in within) {
	if in.program == "" {
		in.program = programAmong(v)
	}
	before, named := "", false
	for i := range v {
		s, ok := v[i].(string)
		each := in
		if ok && named && r.parts.Secrets {
			if as := r.judge.name(before); as != noSecret && len(before) < longestName {
				how := beside
				if strings.HasPrefix(before, "-") && !strings.HasPrefix(s, "-") {
					how = written
				}
				each.header = headerName(before)
				if each.header != "" {
					how = beside
				}
				if each.header != "" || r.judge.value(as, s, how) {
					each.as, each.how = as, how
				}
			}
			if from, is := argument(r.judge, in.program, before, s); is {
				r.learn(s[from:])
				r.Count.Secrets++
				v[i], named = s[:from]+gone, false
				continue
			}
		}
		if ok && r.parts.Secrets && len(s) > 2 && s[0] == '-' && s[1] != '-' {
			if from, is := optionValue(r.judge, in.program, s[1:2], s[2:], true); is {
				r.learn(s[2+from:])
				r.Count.Secrets++
				v[i], named = s[:2+from]+gone, false
				continue
			}
		}
		v[i] = r.value(v[i], each)
		before, named = s, ok
	}
}

// argument judges an argument by the short option before it.
func argument(j *judge, program, option, value string) (int, bool) {
	switch {
	case len(option) == 2 && option[0] == '-':
		return optionValue(j, program, option[1:], value, false)
	case option == "--user" || option == "--proxy-user":
		return optionValue(j, program, "u", value, false)
	}
	return 0, false
}

// programAmong is the first program among arguments that takes a password.
func programAmong(v []any) string {
	const first = 8
	for _, one := range v[:min(len(v), first)] {
		if s, ok := one.(string); ok {
			if program := programOf(s); program != "" {
				return program
			}
		}
	}
	return ""
}

func programOf(command string) string {
	command = command[strings.LastIndexAny(command, "/\\")+1:]
	if command = strings.TrimSuffix(command, ".exe"); isProgram(command) {
		return command
	}
	return ""
}

func headerName(name string) string {
	return (&finder{text: name}).header(span{0, len(name)})
}

// object redacts the members of an object. A pair such as {"name":"DB_PASS","value":"…"}
// is judged as {"DB_PASS":"…"}.
func (r *Redactor) object(v map[string]any, in within) map[string]any {
	if r.parts.Images {
		r.picture(v)
	}
	pair, header, how := noSecret, "", written
	for name, inner := range v {
		s, ok := inner.(string)
		if !ok || len(s) > longestName {
			continue
		}
		if isNameName(name) {
			if as := r.judge.name(s); as > pair {
				pair, header, how = as, headerName(s), written
				if strings.Contains(s, " ") || isQuestion(name) {
					how = beside
				}
			}
		}
		switch strings.ToLower(name) {
		case "command", "cmd", "program", "executable", "file", "bin", "tool":
			if program := programOf(s); program != "" {
				in.program = program
			}
		}
	}
	if r.parts.Secrets {
		r.rows(v)
	}
	out := make(map[string]any, len(v))
	for name, inner := range v {
		each := within{as: r.judge.name(name), header: headerName(name), how: written, program: in.program, cut: in.cut || name == "title" || name == "head", path: pathName(name)}
		list := words(name[:min(len(name), longestName)])
		switch {
		case each.as != noSecret:
		case pair != noSecret && isValueName(name) && !long(inner):
			each.as, each.header, each.how = pair, header, how
		case in.as != noSecret && (len(list) == 0 || !r.judge.harmless[list[len(list)-1]]):
			each.as, each.how = in.as, in.how
		}
		out[r.Text(name)] = r.value(inner, each)
	}
	return out
}

// rows redacts the columns of a table: {"columns":["user","password"],"rows":[["ann","…"]]}.
func (r *Redactor) rows(v map[string]any) {
	for _, name := range []string{"columns", "fields", "headers", "header"} {
		heads, _ := v[name].([]any)
		for column, head := range heads[:min(len(heads), mostColumns)] {
			title, _ := head.(string)
			as := r.judge.name(title)
			if as == noSecret {
				continue
			}
			for _, name := range []string{"rows", "values", "data"} {
				rows, _ := v[name].([]any)
				for _, row := range rows {
					if cells, _ := row.([]any); column < len(cells) {
						if s, ok := cells[column].(string); ok {
							cells[column] = r.string(s, within{as: as, how: written})
						}
					}
				}
			}
		}
	}
}

// long reports of the value of a pair whether it is a text of lines: of a file, of a message.
func long(v any) bool {
	s, ok := v.(string)
	return ok && strings.Contains(strings.TrimSpace(s), "\n")
}

// picture empties an object that holds a picture.
func (r *Redactor) picture(v map[string]any) {
	kind, _ := v["mimeType"].(string)
	if other, ok := v["media_type"].(string); ok {
		kind = other
	}
	if !strings.HasPrefix(kind, "image/") {
		return
	}
	for _, name := range []string{"data", "blob"} {
		if _, there := v[name]; there {
			v[name] = ""
			r.Count.Images++
		}
	}
}

// pathName reports of a name in JSON whether its value is a path, spaces included.
func pathName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"path", "cwd", "dir", "directory", "file", "root", "workspace", "folder", "filename", "uri"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
