package redact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands for a path that was removed.
const (
	goneHome = "/home/user"
	goneWork = "/workspace"
	goneElse = "/elsewhere"
)

// pathFinder finds absolute paths. Those of programs, which every machine has, stay.
type pathFinder struct {
	dirs []string // of the session, the longest first
	flat []string // the same as names of one word, as programs file what is about a directory
}

func newPathFinder(dirs ...string) *pathFinder {
	p := &pathFinder{}
	for _, dir := range dirs {
		if dir = strings.TrimRight(dir, `/\`); len(dir) > 1 && !slices.Contains(p.dirs, dir) {
			p.dirs = append(p.dirs, dir)
		}
	}
	slices.SortFunc(p.dirs, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range p.dirs {
		if strings.Count(dir, "/") > 1 {
			p.flat = append(p.flat, flatName(dir))
		}
	}
	return p
}

// flatName is a path as a name: -home-ann-project.
func flatName(dir string) string {
	return strings.Map(func(c rune) rune {
		if c == '/' || c == '.' || c == '_' || c == '\\' || c == ':' {
			return '-'
		}
		return c
	}, dir)
}

// find returns the paths in a text, and what stands for each.
func (p *pathFinder) find(t string) (cuts []cut) {
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c == '/' && strings.HasPrefix(t[i:], "//") && i > 0 && t[i-1] == ':':
			scheme := i - 1
			for scheme > 0 && (inName(t[scheme-1]) || t[scheme-1] == '+' || t[scheme-1] == '.') && i-scheme < mostSpace {
				scheme--
			}
			from, local := authorityEnd(t, i+2, strings.ToLower(t[scheme:i-1]))
			if local && from < len(t) {
				end := pathEnd(t, from, 0)
				cuts = p.judge(cuts, t, from, end, true)
				i = max(end, from) - 1
				continue
			}
			i = urlEnd(t, from) - 1
		case c == '/' && beginsPath(t, i):
			end := pathEnd(t, i, before(t, i))
			cuts = p.judge(cuts, t, i, end, false)
			i = max(i, end-1)
		case c == '~' && i+1 < len(t) && isLetter(t[i+1]) && (i == 0 || ends(t[i-1]) || strings.IndexByte("=:(,[", t[i-1]) >= 0):
			end := i + 1
			for end < len(t) && inName(t[end]) {
				end++
			}
			if end < len(t) && t[end] == '/' && !strings.HasPrefix(goneHome, "/home/"+t[i+1:end]) {
				cuts = append(cuts, cut{span{i, end}, "~user"})
			}
			i = end - 1
		case c == '\\' && strings.HasPrefix(t[i:], `\\`) && (i == 0 || !inName(t[i-1]) && t[i-1] != ':'):
			if end := pathEnd(t, i, before(t, i)); isShare(t[i:end]) {
				cuts = append(cuts, cut{span{i, end}, goneElse})
				i = end - 1
			} else {
				i = skip(t, i, `\`, len(t)) - 1
			}
		case isLetter(c) && i+2 < len(t) && t[i+1] == ':' && (t[i+2] == '\\' || t[i+2] == '/' && !strings.HasPrefix(t[i+2:], "//")) && (i == 0 || !inName(t[i-1])):
			end := pathEnd(t, i+2, before(t, i))
			if end > i+3 {
				cuts = append(cuts, cut{span{i, end}, p.drive(t[i:end])})
			}
			i = max(i, end-1)
		case c == '-':
			for _, flat := range p.flat {
				if strings.HasPrefix(t[i:], flat) && (i == 0 || !inName(t[i-1])) {
					cuts = append(cuts, cut{span{i, i + len(flat)}, flatName(goneWork)})
					i += len(flat) - 1
					break
				}
			}
		}
	}
	return cuts
}

// isShare reports of a text that begins with backslashes whether it names a host and a
// share, escaped or not: there are half as many between them.
func isShare(text string) bool {
	rest := strings.TrimLeft(text, `\`)
	host := strings.IndexByte(rest, '\\')
	if host < 1 {
		return false
	}
	lead, next := len(text)-len(rest), len(rest[host:])-len(strings.TrimLeft(rest[host:], `\`))
	return lead == 2*next && host+next < len(rest)
}

// before is the byte before i; 0 if there is none.
func before(t string, i int) byte {
	if i == 0 {
		return 0
	}
	return t[i-1]
}

// beginsPath reports whether the slash at i begins an absolute path: what is before it is
// no name.
func beginsPath(t string, i int) bool {
	if i+1 == len(t) || t[i+1] == '/' && (i+2 == len(t) || !inName(t[i+2])) {
		return false
	}
	if i == 0 {
		return true
	}
	switch c := t[i-1]; {
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeLastRuneInString(t[:i])
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	case c == '+' || c == '-': // a line of a change
		return i == 1 || t[i-2] == '\n' || t[i-2] == ' '
	case c == '<': // also ends an element
		return strings.Contains(t[i+1:pathEnd(t, i, 0)], "/")
	case c == '*': // emphasis, unless it is a pattern
		from := len(strings.TrimRight(t[max(0, i-3):i], "*")) + max(0, i-3)
		end := pathEnd(t, i, 0)
		return (from == 0 || ends(t[from-1])) && end < len(t) && t[end] == '*'
	case isLetter(c): // -I/data/include, /mnt behind a drive
		return i >= 2 && t[i-2] == '-' && (i == 2 || ends(t[i-3]))
	case c == '/' || c == '.' || c == '~' || c == '\\' || c == ')' || c == ']' || c == '}' || c == '$' || c == '#' || inName(c):
		return false
	}
	return true
}

// pathEnd is where the path at i ends. Behind a quote it is the next one, if what is
// between them is a path.
func pathEnd(t string, i int, quote byte) int {
	const most = 4096
	end := i
	for ; end < len(t) && end-i < most; end++ {
		c := t[end]
		if c == '\\' && end+1 < len(t) && t[end+1] == ' ' {
			end++
			continue
		}
		if ends(c) || c == ';' {
			break
		}
		if strings.IndexByte(",:()[]{}", c) >= 0 && !goesOn(t, end) {
			break
		}
	}
	if quote != 0 && strings.IndexByte("\"'`", quote) >= 0 && end < len(t) && (t[end] == ' ' || t[end] != quote && strings.IndexByte("'`", t[end]) >= 0) {
		line := t[end:min(len(t), end+mostJudged)]
		if n := strings.IndexAny(line, string(quote)+"\n"); n >= 0 && line[n] == quote && !strings.Contains(line[:n], " /") && !strings.Contains(line[:n], " -") && strings.Count(line[:n], " ") < 5 {
			return end + n
		}
	}
	for end > i && strings.IndexByte(".!?*", t[end-1]) >= 0 {
		end--
	}
	return end
}

// goesOn reports of a sign in a path whether it is of a name: a slash follows in this word,
// and not at once.
func goesOn(t string, i int) bool {
	if i+1 >= len(t) || t[i+1] == '/' {
		return false
	}
	for at := i + 1; at < min(len(t), i+mostSpace); at++ {
		if c := t[at]; ends(c) || c == ';' {
			return false
		} else if c == '/' {
			return t[at-1] != ':' && t[at-1] != ','
		}
	}
	return false
}

// authorityEnd is where the path of an address may begin, and whether it is one of this
// machine.
func authorityEnd(t string, i int, scheme string) (int, bool) {
	end := i
	for end < len(t) && !ends(t[end]) && t[end] != '/' && t[end] != ')' {
		end++
	}
	switch {
	case end == i, strings.HasSuffix(scheme, "file"), strings.HasPrefix(scheme, "sqlite"), scheme == "unix", strings.HasPrefix(scheme, "vscode"), scheme == "cursor", scheme == "idea", scheme == "smb", scheme == "sftp":
		return end, end < len(t) && t[end] == '/'
	}
	return end, false
}

// urlEnd is where the path of an address ends: at its query, in which paths may be.
func urlEnd(t string, i int) int {
	for i < len(t) && !ends(t[i]) && t[i] != '?' && t[i] != ')' && t[i] != ']' {
		i++
	}
	return max(i, 1)
}

// judge adds what stands for the path from from to to, unless every machine has it.
func (p *pathFinder) judge(cuts []cut, t string, from, to int, local bool) []cut {
	path := t[from:to]
	for _, dir := range p.dirs {
		if under(path, dir) {
			return append(cuts, cut{span{from, from + len(dir)}, goneWork})
		}
	}
	lead := len(path) - len(strings.TrimLeft(path, "/"))
	segments := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	if len(segments) == 0 || strings.IndexFunc(path, func(c rune) bool { return inName(byte(min(c, 0x80))) }) < 0 {
		return cuts
	}
	if home := homeLength(path[lead-1:]); home > 0 {
		if !strings.HasPrefix(path, goneHome) || len(path) > len(goneHome) && path[len(goneHome)] != '/' {
			cuts = append(cuts, cut{span{from, from + lead - 1 + home}, goneHome})
		}
		return cuts
	}
	single := len(segments) == 1 && !local && !strings.Contains(segments[0], ".")
	if single || common(segments) {
		return cuts
	}
	return append(cuts, cut{span{from, to}, goneElse})
}

// under reports whether a path is a directory or below it.
func under(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || !inName(path[len(dir)]) && path[len(dir)] != '.' || path[len(dir)] == '.' && (len(path) == len(dir)+1 || path[len(dir)+1] == ' '))
}

// homeLength is the length of the home directory that a path begins with; 0 if there is none.
func homeLength(path string) int {
	for _, parent := range []string{"/home/", "/Users/", "/users/", "/export/home/", "/var/home/"} {
		if rest, ok := strings.CutPrefix(path, parent); ok && rest != "" {
			name := strings.IndexByte(rest, '/')
			if name < 0 {
				name = len(rest)
			}
			return len(parent) + name
		}
	}
	if under(path, "/root") {
		return len("/root")
	}
	return 0
}

// common reports whether every machine has a path, or whether it stands for one that was
// removed.
func common(segments []string) bool {
	const up = ".."
	return !slices.Contains(segments, up) &&
		slices.Contains([]string{goneWork[1:], goneElse[1:], "bin", "sbin", "usr", "dev", "proc", "sys"}, segments[0])
}

// drive is what stands for a path with the letter of a drive.
func (p *pathFinder) drive(path string) string {
	for _, dir := range p.dirs {
		if len(path) >= len(dir) && strings.EqualFold(path[:len(dir)], dir) {
			return goneWork + strings.ReplaceAll(path[len(dir):], `\`, "/")
		}
	}
	segments := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
	if len(segments) > 2 && strings.EqualFold(segments[1], "users") {
		return strings.Join(append([]string{goneHome}, segments[3:]...), "/")
	}
	return goneElse
}

// whole redacts a text that is a path as a whole, with spaces or without.
func (p *pathFinder) whole(s string) (string, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return s, false
	}
	absolute := strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\\`) || len(s) > 2 && isLetter(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/') || strings.HasPrefix(strings.ToLower(s), "file:")
	if !absolute || s == "/" {
		return s, false
	}
	if s[0] == '/' {
		for _, dir := range p.dirs {
			if under(s, dir) {
				return goneWork + s[len(dir):], true
			}
		}
		if home := homeLength(s); home > 0 {
			return goneHome + s[home:], true
		}
		if common(strings.FieldsFunc(s, func(c rune) bool { return c == '/' })) {
			return s, false
		}
	} else if s[0] != '\\' && s[1] == ':' {
		return p.drive(s), true
	}
	return goneElse, true
}
