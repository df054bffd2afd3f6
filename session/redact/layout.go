package redact

import "strings"

// Values that their layout gives to a name: in another line, cell, element or member.

// indicator reports whether the line of a YAML value begins its block at i.
func (f *finder) indicator(i int) bool {
	return strings.Trim(f.text[i+1:min(f.lineEnd(i), i+mostSpace)], "+-0123456789 \t\r") == ""
}

// below judges the values in the lines below a name, which are deeper than it: a block, a
// list, members. A value of the name's own depth has to look random.
func (f *finder) below(name span, as naming, i int, how manner) int {
	const mostLines = 64
	t := f.text
	if i < f.block {
		return 0
	}
	depth := f.depth(name.from)
	last := 0
	fence := false
	for n := 0; n < mostLines && i < len(t); n++ {
		if t[i] != '\n' {
			i = f.lineEnd(i)
		}
		if i++; i >= len(t) {
			break
		}
		end := f.lineEnd(i)
		line := t[i:end]
		from := skip(t, i, " \t+-", mostSpace)
		if strings.HasPrefix(strings.TrimSpace(line), "```") && last == 0 {
			fence, i = true, end
			continue
		}
		if from >= end || t[from] == '\r' {
			if last != 0 {
				break
			}
			i = end
			continue
		}
		here, to := how, end
		if f.depth(from) <= depth && !strings.HasPrefix(strings.TrimLeft(line, " \t+"), "- ") {
			if last != 0 || n > 2 || strings.ContainsAny(strings.TrimSpace(line), " \t:") {
				break
			}
			here = beside
		}
		from, to = f.inLine(from, to)
		if f.value(as, t[from:to], max(here, told)) && (here != beside || fence || f.value(as, t[from:to], beside)) {
			last = f.add(from, to)
		} else if here == beside {
			break
		}
		f.block = end
		i = end
	}
	return last
}

// inLine is the value of a line: of "name: value" what is behind the colon, without quotes.
func (f *finder) inLine(from, to int) (int, int) {
	t := f.text
	if colon := strings.Index(t[from:to], ": "); colon > 0 && colon < mostSpace {
		name := strings.Trim(t[from:from+colon], "\"' ")
		if list := words(name); len(list) > 0 && f.harmless[list[len(list)-1]] {
			return from, from
		}
		from = skip(t, from+colon+1, " ", mostSpace)
	}
	from = min(skip(t, from, "\"'`", 1), to)
	for to > from && strings.IndexByte(" \r\t\"'`,;", t[to-1]) >= 0 {
		to--
	}
	return from, to
}

// depth is how deep the line of i is indented.
func (f *finder) depth(i int) int {
	t := f.text
	start := i
	for start > 0 && t[start-1] != '\n' && i-start < 2*mostSpace {
		start--
	}
	deep := 0
	for start < i && (t[start] == ' ' || t[start] == '\t' || t[start] == '+' || t[start] == '-' && deep == 0) {
		deep++
		start++
	}
	return deep
}

// members judges the texts in a list or an object.
func (f *finder) members(as naming, i int) int {
	t := f.text
	if i < f.group {
		return 0
	}
	how := written
	if as == areTokens { // of a language, mostly
		how = beside
	}
	depth, last := 0, 0
	skipped := false // the value of a member whose name says that it is none
	for end := min(len(t), i+mostGroup); i < end; i++ {
		f.group = i
		switch c := t[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return last
			}
		case c == ',':
			skipped = false
		case c == '\\' || c == '"' || c == '\'' || c == '`':
			from, to, ok := f.quoted(i)
			if !ok {
				continue
			}
			i = skip(t, to, "\\\"'`", 4)
			if after := skip(t, i, " \t\n", 8); after < len(t) && t[after] == ':' {
				list := words(t[from:min(to, from+longestName)])
				skipped = len(list) > 0 && f.harmless[list[len(list)-1]]
			} else if !skipped && f.value(as, t[from:to], how) {
				last = f.add(from, to)
			}
			i--
		case !ends(c):
			from, to := f.bare(i)
			end := from
			for end < to && inName(t[end]) {
				end++
			}
			if after := skip(t, end, " \t", 8); end > from && after < len(t) && (t[after] == ':' || t[after] == '=') {
				list := words(t[from:min(end, from+longestName)])
				skipped = len(list) > 0 && f.harmless[list[len(list)-1]]
				i = after
				continue
			}
			if comma := strings.IndexByte(t[from:to], ','); comma > 0 {
				to = from + comma
			}
			if k := kindsOf(t[from:to]); !skipped && k.letters > 0 && (k.random() || !strings.ContainsAny(t[from:to], "()[]=+!&")) && f.value(as, t[from:to], min(how, told)) {
				last = f.add(from, to)
			}
			i = max(i, to-1)
		}
	}
	return last
}

// beginsCell reports whether a name begins a cell of a table or a line.
func (f *finder) beginsCell(i int) bool {
	for n := 0; i > 0 && n < mostSpace && strings.IndexByte(" \t*_`\"'", f.text[i-1]) >= 0; n++ {
		i--
	}
	return i == 0 || f.text[i-1] == '|' || f.text[i-1] == '\n'
}

// cell judges the next cell of a table's row.
func (f *finder) cell(as naming, i int) int {
	t := f.text
	end := f.lineEnd(i)
	if bar := strings.IndexByte(t[i:min(end, i+mostValue)], '|'); bar >= 0 {
		end = i + bar
	}
	from := skip(t, i, " \t`*\"'", mostSpace)
	for end > from && strings.IndexByte(" \t\r`*\"'", t[end-1]) >= 0 {
		end--
	}
	if from < end && f.value(as, t[from:end], told) {
		return f.add(from, end)
	}
	return 0
}

// tables judges the columns of tables by their heads. A line of hyphens is below them.
func (f *finder) tables() {
	t := f.text
	if !strings.Contains(t, "|") {
		return
	}
	head, start := "", 0
	for start < len(t) {
		end := start + len(t[start:])
		if n := strings.IndexByte(t[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := t[start:end]
		if strings.Trim(line, "|+-: \t\r") == "" && strings.Contains(line, "--") && strings.Contains(head, "|") {
			end = f.rows(strings.Split(head, "|"), end+1)
		}
		head, start = line, end+1
	}
}

// rows judges the rows of a table, and returns the end of the last.
func (f *finder) rows(heads []string, start int) int {
	t := f.text
	columns := map[int]naming{}
	for i, head := range heads[:min(len(heads), mostColumns)] {
		if as := f.name(strings.Trim(head, " \t\r*`_")); as != noSecret {
			columns[i] = as
		}
	}
	for start < len(t) {
		end := len(t)
		if n := strings.IndexByte(t[start:], '\n'); n >= 0 {
			end = start + n
		}
		if !strings.Contains(t[start:end], "|") {
			return start - 1
		}
		at := start
		for i, cell := range strings.SplitN(t[start:end], "|", mostColumns+1) {
			if as := columns[i]; as != noSecret {
				value := strings.Trim(cell, " \t\r*`\"'")
				if from := at + strings.Index(cell, value); value != "" && f.value(as, value, told) {
					f.add(from, from+len(value))
				}
			}
			at += len(cell) + 1
		}
		start = end + 1
	}
	return start - 1
}

// element judges the text of an element of XML.
func (f *finder) element(as naming, i int) int {
	t := f.text
	if rest, ok := strings.CutPrefix(t[i:], "<![CDATA["); ok {
		i = len(t) - len(rest)
	}
	end := strings.IndexAny(t[i:min(len(t), i+mostValue)], "<]")
	if end < 0 {
		return 0
	}
	from := skip(t, i, " \t\r\n", mostSpace)
	to := i + end
	for to > from && t[to-1] <= ' ' {
		to--
	}
	if from < to && !strings.Contains(t[from:to], "\n") && f.value(as, t[from:to], written) {
		return f.add(from, to)
	}
	return 0
}

// sibling judges the element behind one that has the name: <key>token</key><string>V</string>.
func (f *finder) sibling(as naming, i int) int {
	t := f.text
	for n := 0; i < len(t) && n < 3; n++ {
		i = skip(t, i, "> \t\r\n", mostSpace)
		if i >= len(t) || t[i] != '<' {
			break
		}
		end := strings.IndexByte(t[i:min(len(t), i+mostSpace)], '>')
		if end < 0 {
			return 0
		}
		tag := t[i : i+end]
		i += end
		if tag[1:] == "" || tag[1] == '/' {
			continue
		}
		return f.element(as, i+1)
	}
	if i > 0 && t[i-1] == '>' { // <entry key="token">V</entry>
		return f.element(as, i)
	}
	return 0
}

// pair judges the value beside a name that is a value itself: name: token, value: V.
func (f *finder) pair(as naming, i int) int {
	t := f.text
	start := i
	i = skip(t, i, "\\\"'`, \t\r\n/>", mostSpace)
	end := i
	for end < len(t) && end < i+mostSpace && inName(t[end]) {
		end++
	}
	if !isValueName(t[i:end]) || strings.Contains(t[start:i], "\n") && !strings.HasPrefix(strings.ToLower(t[i:end]), "val") {
		return 0
	}
	i = skip(t, skip(t, end, "\\\"'`", 8), " \t", mostSpace)
	if i < len(t) && (t[i] == ':' || t[i] == '=') {
		return f.given(span{end, end}, as, i+1, written)
	}
	return 0
}

// second judges the text behind a name in quotes and a comma: of a list, of a call.
func (f *finder) second(name span, as naming, i int, header string) int {
	t := f.text
	if end := f.pair(as, i); end != 0 {
		return end
	}
	i = skip(t, i, " \t\r\n", mostSpace)
	from, to, ok := f.quoted(i)
	if !ok {
		return 0
	}
	if after := skip(t, to, "\\\"'` ", 8); after < len(t) && t[after] == ':' { // the name of another
		return 0
	}
	if header != "" {
		return f.headerValue(header, as, i, beside)
	}
	how := beside
	if t[name.from] == '-' && t[from] != '-' {
		how = written
	}
	if f.value(as, t[from:to], how) {
		return f.add(from, to)
	}
	return 0
}

// isValueName reports of the name of a member whether it has the value of a pair.
func isValueName(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1] {
	case "value", "val", "values", "v", "data", "content", "text", "string", "default", "plaintext", "current", "answer", "response":
		return true
	}
	return false
}

// isNameName reports of the name of a member whether it has the name of a pair.
func isNameName(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1] {
	case "name", "key", "k", "n", "id", "field", "header", "variable", "var", "env", "option", "flag", "param", "parameter", "property", "attribute", "label", "setting", "title", "question", "prompt":
		return true
	}
	return false
}

// isQuestion reports of such a member whether it has words for a person.
func isQuestion(name string) bool {
	switch list := words(name); list[len(list)-1] {
	case "title", "question", "prompt":
		return true
	}
	return false
}
