package redact

import (
	"slices"
	"strings"
)

// finder finds secrets in a text: the parts that are values, their names left.
type finder struct {
	*judge
	text  string
	found []span

	// The ends of the line and of the word that were looked for last, and of the last
	// group: no part of a text is read again for each name in it.
	line, word   span
	group, block int
	command      string // on this line
}

// find returns the secrets in a text, in no order.
func find(j *judge, text string) []span {
	f := &finder{judge: j, text: text}
	f.tokens()
	f.addresses()
	f.tables()
	f.named()
	return f.found
}

func (f *finder) add(from, to int) int {
	if to > from {
		f.found = append(f.found, span{from, to})
	}
	return to
}

// named looks at each word of the text: it may be a name, an option or a command.
func (f *finder) named() {
	t := f.text
	before := span{}
	for i := 0; i < len(t); {
		c := t[i]
		if !inName(c) {
			if c == '\n' && !(i > 0 && t[i-1] == '\\') || c == ';' || c == '|' {
				f.command = ""
			}
			i++
			continue
		}
		end := i + 1
		for end < len(t) && inName(t[end]) {
			end++
		}
		at := span{i, end}
		i = end
		if c == '-' {
			i = max(i, f.option(at))
		} else if program := t[at.from:end]; end-at.from < longestName && isProgram(program) {
			f.command = program
		}
		if name := t[max(at.from, end-longestName):end]; hasRoot(name) || strings.EqualFold(name, "by") {
			as := f.name(name)
			if as == noSecret && strings.EqualFold(name, "by") && strings.EqualFold(t[before.from:before.to], "identified") {
				as = isSecret // of SQL
			}
			if as == noSecret && before.to == at.from-1 && t[before.to] == ' ' { // "access key"
				as = f.name(t[max(before.from, before.to-longestName):end])
			}
			if as != noSecret {
				i = max(i, f.after(at, as))
			}
		}
		before = at
	}
}

// after looks for the value of a name, and returns where it ends.
func (f *finder) after(name span, as naming) int {
	t := f.text
	closed := skip(t, name.to, "\\\"'`*])?", 8)
	quoted := closed > name.to && strings.ContainsAny(t[name.to:closed], "\"'`")
	phrase := quoted && f.ofPhrase(name.from)
	i := skip(t, closed, " \t", mostSpace)
	if i == len(t) {
		return 0
	}
	header := f.header(name)
	if name.from > 0 && t[name.from-1] == '$' && t[i] != '=' || t[name.from:name.to] == "PASS" && t[i] != '=' { // a variable, a test
		return 0
	}
	switch rest := t[i:]; {
	case strings.HasPrefix(rest, "::"):
	case strings.HasPrefix(rest, ":="), strings.HasPrefix(rest, "=>"), strings.HasPrefix(rest, "->"), strings.HasPrefix(rest, "||="):
		return f.given(name, as, i+strings.IndexByte(rest, rest[1])+1, told)
	case strings.HasPrefix(rest, "=="), strings.HasPrefix(rest, "!="):
		return f.compared(as, i+2)
	case strings.HasPrefix(rest, "?="), strings.HasPrefix(rest, "<<<"):
		return f.given(name, as, i+len(rest)-len(strings.TrimLeft(rest, "?=<")), told)
	case strings.HasPrefix(rest, "||"), strings.HasPrefix(rest, "?:"), strings.HasPrefix(rest, "??"), strings.HasPrefix(rest, "or "):
		return f.otherwise(as, i+2)
	case rest[0] == '(' && i == closed:
		return f.behind(as, i, i+1)
	case rest[0] == '=' && i == closed && !quoted:
		how := told
		if f.assigned(name, i+1) {
			how = written
		}
		return f.given(name, as, i+1, how)
	case rest[0] == '=', rest[0] == '+' && strings.HasPrefix(rest, "+="):
		return f.given(name, as, i+1+strings.IndexByte(rest, '='), told)
	case rest[0] == ':' && header != "":
		return f.headerValue(header, as, i+1, told)
	case rest[0] == ':':
		how := told
		if f.alone(name, i+1) && as >= areSecrets {
			how = written
		}
		if i+1 < len(t) && t[i+1] != ' ' && credential(t[name.from:name.to], t[i+1:]) {
			return 0
		}
		return f.given(name, as, i+1, how)
	case rest[0] == '|' && !strings.ContainsAny(t[name.to:closed], "\"'") && f.beginsCell(name.from):
		return f.cell(as, i+1)
	case rest[0] == '>' && name.from > 0 && (t[name.from-1] == '<' || t[name.from-1] == ':'):
		return f.element(as, i+1)
	case rest[0] == '<', rest[0] == '>':
		return f.sibling(as, i)
	case rest[0] == ',' && phrase:
	case rest[0] == ',' && quoted:
		return f.second(name, as, i+1, header)
	case rest[0] == '\n' || rest[0] == '\r' || rest[0] == '/' && quoted:
		if end := f.pair(as, i); end > 0 || rest[0] == '/' {
			return end
		}
		return f.below(name, as, i, beside)
	case i > closed && name.from > 0 && t[name.from-1] == '<':
		if end := f.lineEnd(i); end > i { // <password type="x">V</password>
			if tag := strings.IndexByte(t[i:min(end, i+mostSpace)], '>'); tag >= 0 {
				return f.element(as, i+tag+1)
			}
		}
	case i > closed && quoted && !phrase && f.pair(as, i) > 0:
		return f.found[len(f.found)-1].to
	case i > closed:
		return f.spaced(name, as, i, quoted)
	}
	return 0
}

// ofPhrase reports whether the word that begins at i is the last of several in quotes.
func (f *finder) ofPhrase(i int) bool {
	start := i
	for i > 0 && start-i < mostSpace && !ends(f.text[i-1]) {
		i--
	}
	return i > 0 && f.text[i-1] == ' '
}

// given judges the value that begins at i, behind a sign that gives it to its name.
func (f *finder) given(name span, as naming, i int, how manner) int {
	t := f.text
	start := i
	i = skip(t, skip(t, skip(t, i, "*", 3), " \t", mostSpace), "*", 3)
	if i == len(t) {
		return 0
	}
	if t[i] == '!' || t[i] == '&' { // a tag of YAML
		if end := skip(t, i, alnum+"!&_", mostSpace); end < len(t) && t[end] == ' ' && end > i+1 {
			i = skip(t, end, " ", mostSpace)
		}
	}
	if i == len(t) {
		return 0
	}
	if i > start && how == written && t[start] == ' ' && t[start-1] == '=' {
		how = told
	}
	switch c := t[i]; {
	case c == '#' && i+1 < len(t) && t[i+1] == ' ' && t[i-1] == ' ':
		return f.below(name, as, f.lineEnd(i), how)
	case c == '\n', c == '\r', c == '\\' && i+1 < len(t) && t[i+1] == '\n':
		return f.below(name, as, i, how)
	case (c == '|' || c == '>') && f.indicator(i):
		return f.below(name, as, f.lineEnd(i), written)
	case c == '[' || c == '{':
		return f.members(as, i)
	case c == '<':
		if end := strings.IndexByte(t[i:min(f.lineEnd(i), i+mostJudged)], '>'); end > 0 && f.value(as, t[i+1:i+end], beside) {
			return f.add(i+1, i+end)
		}
		return 0
	}
	if from, to, ok := f.quoted(i); ok {
		if !between(t[from:to]) && f.value(as, t[from:to], written) {
			return f.add(from, to)
		}
		return 0
	}
	from, to := f.bare(i)
	if f.value(as, t[from:to], how) {
		return f.add(from, to)
	}
	return f.behind(as, from, to)
}

// between reports of a text that seems to be in quotes whether it is between two of them.
func between(text string) bool {
	return text != "" && strings.IndexByte(",;)]+\"' \t", text[0]) >= 0 && strings.ContainsAny(text, " \t") || strings.Contains(text, "\n") || strings.Contains(text, `:"`)
}

// otherwise judges the text in quotes that is taken if the name has no value.
func (f *finder) otherwise(as naming, i int) int {
	from, to, ok := f.quoted(skip(f.text, i, " \t", mostSpace))
	if ok && f.value(as, f.text[from:to], beside) {
		return f.add(from, to)
	}
	return 0
}

// behind looks at what follows a value that was none: "password: str = 'V'", getenv("V").
func (f *finder) behind(as naming, from, to int) int {
	t := f.text
	i := skip(t, to, " \t)", mostSpace)
	if i+1 < len(t) && t[i] == '=' && t[i+1] != '=' {
		i = skip(t, i+1, " \t", mostSpace)
		if from, to, ok := f.quoted(i); ok && f.value(as, t[from:to], written) {
			return f.add(from, to)
		}
		return 0
	}
	for range 3 { // the arguments of a call
		if !strings.ContainsAny(t[from:min(to, from+mostJudged)], "([") {
			return 0
		}
		i = skip(t, i, "(, \t", mostSpace)
		start, end, ok := f.quoted(i)
		if !ok {
			return 0
		}
		if f.value(as, t[start:end], beside) {
			return f.add(start, end)
		}
		i = end + 1
	}
	return 0
}

// compared judges the text in quotes that a name is compared with.
func (f *finder) compared(as naming, i int) int {
	i = skip(f.text, skip(f.text, i, "=", 1), " \t", mostSpace)
	if from, to, ok := f.quoted(i); ok && f.value(as, f.text[from:to], written) {
		return f.add(from, to)
	}
	return 0
}

// quoted is the text in quotes that begins at i. A letter before the quotes is of a
// programming language.
func (f *finder) quoted(i int) (from, to int, ok bool) {
	t := f.text
	if i+1 < len(t) && strings.IndexByte("brfuL@$", t[i]) >= 0 && strings.IndexByte("\"'`", t[i+1]) >= 0 {
		i++
	}
	open := skip(t, i, "\\", 8)
	if open >= len(t) || strings.IndexByte("\"'`", t[open]) < 0 {
		return 0, 0, false
	}
	quote := t[open]
	from = skip(t, open, string(quote), 3)
	if from-open == 2 { // empty
		return open + 1, open + 1, true
	}
	for at := from; at < min(len(t), from+mostValue); at++ {
		if t[at] != quote {
			continue
		}
		escapes := 0
		for at-escapes > from && t[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes <= open-i {
			return from, at - escapes, true
		}
	}
	_, to = f.bare(from)
	return from, to, true
}

// bare is the value without quotes that begins at i.
func (f *finder) bare(i int) (from, to int) {
	t := f.text
	if i < f.word.from || i >= f.word.to {
		end := i
		for end < len(t) && end < i+mostValue && !ends(t[end]) && !breaks(t[end:]) {
			end++
		}
		f.word = span{i, end}
	}
	from, to = i, f.word.to
	for at := i + 1; at < min(to, i+mostJudged); at++ {
		if strings.IndexByte("&;,", t[at]) >= 0 && f.another(at+1) {
			to = at
		}
	}
	for to > from && strings.IndexByte(".,;:)]}*", t[to-1]) >= 0 {
		to--
	}
	return from, to
}

// breaks reports whether a text begins with the end of a line, escaped.
func breaks(t string) bool {
	return len(t) > 1 && t[0] == '\\' && (t[1] == 'n' || t[1] == 'r') && (len(t) == 2 || ends(t[2]) || t[2] == '\\')
}

// another reports whether another name and value begin at i: of an address, of a connection.
func (f *finder) another(i int) bool {
	t := f.text
	end := i
	for end < len(t) && end < i+mostSpace && (inName(t[end]) || t[end] == '.' || t[end] == ' ' && end > i) {
		end++
	}
	return end > i && end < len(t) && (t[end] == '=' || t[end] == ':') || i < len(t) && t[i] == ' '
}

// lineEnd is the end of the line of i.
func (f *finder) lineEnd(i int) int {
	if i < f.line.from || i > f.line.to {
		end := strings.IndexByte(f.text[i:], '\n')
		if end < 0 {
			end = len(f.text) - i
		}
		f.line = span{i, i + end}
	}
	return f.line.to
}

// assigned reports of NAME=value whether it is an assignment and no argument of a call:
// its name is in capitals or begins a line, an option or a part of an address.
func (f *finder) assigned(name span, value int) bool {
	t := f.text
	if strings.ToLower(t[name.from:name.to]) != t[name.from:name.to] || t[name.from] == '-' {
		return true
	}
	for i := name.from; ; i-- {
		if i == 0 || t[i-1] == '\n' {
			return true
		}
		if c := t[i-1]; c == '?' || c == '&' || c == ';' || c == '#' {
			return true
		} else if !inName(c) && c != '.' && c != '+' && c != '-' || name.from-i > mostSpace {
			return false
		}
	}
}

// alone reports of "name: value" whether it is a line of its own.
func (f *finder) alone(name span, value int) bool {
	t := f.text
	i := name.from
	for n := 0; i > 0 && n < mostSpace && strings.IndexByte(" \t-+*>#\"'_.", t[i-1]) >= 0; n++ {
		i--
	}
	if i > 0 && t[i-1] != '\n' {
		return false
	}
	end := f.lineEnd(value)
	rest := strings.TrimSpace(t[value:min(end, value+mostJudged)])
	return rest != "" && !strings.ContainsAny(rest, " \t([{") && !strings.ContainsAny(rest[len(rest)-1:], ",;")
}

// spaced judges a value that only space is before: of an option, in netrc, in prose.
func (f *finder) spaced(name span, as naming, i int, closed bool) int {
	t := f.text
	how := beside
	for _, of := range []string{"for ", "of ", "("} { // the password for root is V
		if strings.HasPrefix(t[i:], of) {
			line := t[i:min(f.lineEnd(i), i+mostSpace)]
			for _, verb := range []string{": ", " is ", " = "} {
				if at := strings.Index(line, verb); at > 0 {
					from, to := f.bare(skip(t, i+at+len(verb), " *`\"'", 8))
					if f.value(as, t[from:to], beside) {
						return f.add(from, to)
					}
				}
			}
			return 0
		}
	}
	for _, sign := range []string{"- ", "– ", "— ", "→ "} {
		if strings.HasPrefix(t[i:], sign) {
			i += len(sign)
		}
	}
	for _, verb := range []string{"is ", "is: ", "was ", "to ", "are "} {
		if strings.HasPrefix(t[i:], verb) {
			how = told
			if as < areSecrets {
				how = beside
			}
			i = skip(t, skip(t, i+len(verb), " ", mostSpace), ":*", 3)
			i = skip(t, i, " ", 1)
			break
		}
	}
	if from, to, ok := f.quoted(i); ok {
		if !closed && how == beside {
			how = told
		}
		if !between(t[from:to]) && f.value(as, t[from:to], how) {
			return f.add(from, to)
		}
		return 0
	}
	if t[name.from] == '-' {
		how = written
	}
	if how == beside && as != maySecret && f.login(name.from) {
		how = written
	}
	from, to := f.bare(i)
	if to > from && t[from] != '-' && f.value(as, t[from:to], how) && !(how == told && identifier(t[from:to]) && kindsOf(t[from:to]).digits == 0) {
		return f.add(from, to)
	}
	return 0
}

// login reports whether the text before i is of a netrc: machine HOST login NAME.
func (f *finder) login(i int) bool {
	before := strings.Fields(f.text[max(0, i-2*mostSpace):i])
	n := len(before)
	return n >= 2 && (before[n-2] == "machine" || before[n-2] == "login" && (slices.Contains(before, "machine") || slices.Contains(before, "default")))
}

// credential reports whether a text is the id of one of abide's credentials, as it names
// an actor: token:9f3a11c07b2d4e55.
func credential(name, rest string) bool {
	const digits = 16
	return name == "token" && len(rest) >= digits && strings.Trim(rest[:digits], "0123456789abcdef") == "" && (len(rest) == digits || !inName(rest[digits]))
}
