package redact

import "strings"

// Secrets that need no name: tokens of services, addresses, headers, options of programs.

// service is the form of a service's token: how it begins, and how much of which
// characters follows.
type service struct {
	begin, with string
	least       int
}

const (
	alnum     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	capitals  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	addressed = alnum + "_-"
)

// services are the forms of well-known services. docs/security.md lists them.
func services() []service {
	return []service{
		{"AKIA", capitals, 16}, {"ASIA", capitals, 16}, {"ABIA", capitals, 16}, {"ACCA", capitals, 16}, // AWS
		{"ghp_", alnum, 20}, {"gho_", alnum, 20}, {"ghu_", alnum, 20}, {"ghs_", alnum, 20}, {"ghr_", alnum, 20}, {"github_pat_", alnum + "_", 22},
		{"glpat-", addressed, 20}, {"gldt-", addressed, 20}, {"glrt-", addressed, 20}, {"glcbt-", addressed, 20}, {"glptt-", addressed, 20}, {"glsoat-", addressed, 20},
		{"xoxa-", addressed, 10}, {"xoxb-", addressed, 10}, {"xoxe-", addressed, 10}, {"xoxp-", addressed, 10}, {"xoxo-", addressed, 10}, {"xoxs-", addressed, 10}, {"xoxr-", addressed, 10}, {"xapp-", addressed, 10},
		{"https://hooks.slack.com/services/", addressed + "/", 8}, {"https://hooks.slack.com/workflows/", addressed + "/", 8},
		{"sk-", addressed, 20}, // OpenAI, Anthropic and others
		{"sk_live_", alnum, 16}, {"sk_test_", alnum, 16}, {"rk_live_", alnum, 16}, {"rk_test_", alnum, 16},
		{"AIza", addressed, 35}, {"ya29.", addressed, 20}, // Google
		{"npm_", alnum, 36}, {"pypi-", addressed, 16}, {"hf_", alnum, 30}, {"abide_", addressed, 16}, {"AGE-SECRET-KEY-1", capitals, 20},
	}
}

// tokens finds the tokens of services, JWTs and private keys.
func (f *finder) tokens() {
	t := f.text
	for _, s := range services() {
		for i := 0; ; {
			at := strings.Index(t[i:], s.begin)
			if at < 0 {
				break
			}
			from := i + at
			i = from + len(s.begin)
			if from > 0 && (isWord(t[from-1])) {
				continue
			}
			end := i
			for end < len(t) && strings.IndexByte(s.with, t[end]) >= 0 {
				end++
			}
			if end-i < s.least || s.with == capitals && s.least == 16 && (end-i > s.least || end < len(t) && isWord(t[end])) {
				continue
			}
			f.add(from, end)
			i = end
		}
	}
	f.webTokens()
	f.privateKeys()
}

// webTokens finds JWTs: three parts of base64, with dots between them.
func (f *finder) webTokens() {
	const begin, least = "eyJ", 8
	t := f.text
	part := func(i int) int {
		for i < len(t) && strings.IndexByte(addressed, t[i]) >= 0 {
			i++
		}
		return i
	}
	for i := 0; ; {
		at := strings.Index(t[i:], begin)
		if at < 0 {
			return
		}
		from := i + at
		first := part(from)
		i = first // inside of the part none begins
		if from > 0 && isWord(t[from-1]) || first-from < len(begin)+least || !strings.HasPrefix(t[first:], "."+begin) {
			continue
		}
		second := part(first + 1)
		if second-first < len(begin)+least+1 || second >= len(t) || t[second] != '.' {
			continue
		}
		if third := part(second + 1); third-second > least {
			i = f.add(from, third)
		}
	}
}

// privateKeys finds keys in PEM. One without an end goes to the end of the text.
func (f *finder) privateKeys() {
	const begin, kind, end = "-----BEGIN ", "PRIVATE KEY", "-----END "
	t := f.text
	for i := 0; ; {
		at := strings.Index(t[i:], begin)
		if at < 0 {
			return
		}
		from := i + at
		i = from + len(begin)
		if !strings.Contains(t[i:min(len(t), i+mostSpace)], kind) {
			continue
		}
		to := len(t)
		if last := strings.Index(t[i:], end); last >= 0 {
			to = i + last + len(end)
			if line := strings.Index(t[to:min(len(t), to+mostSpace)], "-----"); line >= 0 {
				to += line + len("-----")
			}
		}
		i = f.add(from, to)
	}
}

// addresses finds passwords in addresses: scheme://user:V@host.
func (f *finder) addresses() {
	t := f.text
	for i := 0; ; {
		at := strings.Index(t[i:], "://")
		if at < 0 {
			break
		}
		i += at + len("://")
		from := i
		for i < len(t) && i-from < mostValue && !ends(t[i]) {
			if t[i] == ':' && strings.HasPrefix(t[i:], "://") {
				break
			}
			i++
		}
		f.address(from, i)
	}
	for i := 0; ; { // user:V@tcp(host)
		at := strings.Index(t[i:], "@tcp(")
		if at < 0 {
			return
		}
		to := i + at
		from := to
		for from > i && to-from < mostJudged && !ends(t[from-1]) {
			from--
		}
		if colon := strings.IndexByte(t[from:to], ':'); colon >= 0 && f.value(isSecret, t[from+colon+1:to], written) {
			f.add(from+colon+1, to)
		}
		i = to + 1
	}
}

// address judges what is before the host in an address.
func (f *finder) address(from, to int) {
	t := f.text
	authority := t[from:to]
	host := strings.IndexAny(authority, "/?#")
	if host < 0 {
		host = len(authority)
	}
	at := strings.LastIndexByte(authority[:host], '@')
	colon := strings.IndexByte(authority, ':')
	if at < 0 && colon >= 0 && colon < host && (colon+1 == len(authority) || authority[colon+1] < '0' || authority[colon+1] > '9') {
		at = strings.LastIndexByte(authority[:min(len(authority), mostJudged)], '@') // a password with a slash
	}
	switch {
	case at < 0:
	case colon >= 0 && colon < at:
		if f.value(isSecret, authority[colon+1:at], written) {
			f.add(from+colon+1, from+at)
		}
	case f.value(maySecret, authority[:at], beside):
		f.add(from, from+at)
	}
}

// header is the name in lower case if it is one of a header with a scheme or with pairs
// in its value.
func (f *finder) header(name span) string {
	switch lower := strings.ToLower(f.text[max(name.from, name.to-mostSpace):name.to]); lower {
	case "authorization", "proxy-authorization", "x-authorization":
		return "authorization"
	case "cookie", "set-cookie":
		return "cookie"
	}
	return ""
}

// headerValue judges the value of a header that begins at i.
func (f *finder) headerValue(header string, as naming, i int, how manner) int {
	t := f.text
	i = skip(t, i, " \t*", mostSpace)
	from, to, quoted := f.quoted(i)
	if !quoted {
		if i >= len(t) || t[i] == '\n' || t[i] == '\r' {
			return f.below(span{i, i}, as, i, told)
		}
		from, to = i, min(f.lineEnd(i), i+mostValue)
		if quote := strings.IndexAny(t[from:to], "\"'`<"); quote >= 0 && !strings.HasPrefix(strings.ToLower(t[from:to]), "digest") {
			to = from + quote
		}
	}
	value := t[from:to]
	if header == "cookie" {
		return f.cookies(from, to, quoted, how)
	}
	scheme, rest, _ := strings.Cut(value, " ")
	switch {
	case isScheme(scheme) && strings.ContainsAny(rest[:min(len(rest), mostJudged)], "=") && strings.Contains(rest, ","): // Digest, AWS4
		return f.add(from, to)
	case isScheme(scheme) || len(scheme) < 12 && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz") == "" && rest != "":
		at := skip(t, from+len(scheme), " \t", mostSpace)
		start, end := f.bare(at)
		end = min(end, to)
		if start < end && f.value(isSecret, t[start:end], written) && (isScheme(scheme) && !f.prose(t[start:end]) || kindsOf(t[start:end]).digits > 0) {
			return f.add(start, end)
		}
		return 0
	}
	if !quoted {
		from, to = f.bare(from)
	}
	if quoted && how == told {
		how = written
	}
	if from < to && f.value(isSecret, t[from:to], how) {
		return f.add(from, to)
	}
	return 0
}

// prose reports of the word behind a scheme whether it is one of prose.
func (f *finder) prose(word string) bool {
	k := kindsOf(word)
	return identifier(word) && k.digits == 0 && k.letters < 16 && k.mixed == 0
}

// cookies judges the pairs of a cookie: all of them, or none if they are prose.
func (f *finder) cookies(from, to int, quoted bool, how manner) int {
	t := f.text
	first, end := f.bare(from)
	end = min(end, to)
	if first >= end {
		return 0
	}
	if pair := strings.IndexByte(t[first:end], '='); pair > 0 {
		for !quoted && end < to {
			next := skip(t, end, "; ", 4)
			if next == end || strings.IndexByte(t[end:next], ';') < 0 || next >= to {
				break
			}
			_, end = f.bare(next)
			end = min(end, to)
		}
		if quoted {
			end = to
		}
		return f.add(first, end)
	}
	if f.value(isSecret, t[first:end], min(how, told)) {
		return f.add(first, end)
	}
	return 0
}

// isProgram reports whether a word is a program with a password among its short options.
func isProgram(word string) bool { return programOptions(word) != "" }

// programOptions are the short options of a program that take a password; behind a "+" they
// take user:password.
func programOptions(program string) string {
	switch program {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlcheck", "mariadb", "mariadb-dump", "sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "7z", "7za", "rar", "unrar", "docker", "podman", "buildah", "skopeo", "helm", "clickhouse-client", "sqlcmd", "vncserver", "az":
		return "p"
	case "redis-cli", "valkey-cli":
		return "a"
	case "openssl":
		return "k"
	case "unzip", "zip", "sqlcmd.exe", "bcp":
		return "P"
	case "ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd":
		return "w"
	case "curl":
		return "+uU"
	case "http", "https", "xh":
		return "+a"
	case "smbclient", "rpcclient":
		return "+U"
	}
	return ""
}

// option judges what a short option of a program takes: mysql -pV, curl -u user:V.
func (f *finder) option(at span) int {
	t := f.text
	letter, from := "u", at.to
	switch name := t[at.from:min(at.to, at.from+mostSpace)]; {
	case name == "--user" || name == "--proxy-user":
	case len(name) < 2 || name[1] == '-':
		return 0
	default:
		letter, from = name[1:2], at.from+2
	}
	if at.from > 0 && !ends(t[at.from-1]) && t[at.from-1] != ',' && t[at.from-1] != '[' {
		return 0
	}
	joined := from < at.to
	if from == at.to { // the next word
		from = skip(t, from, "\\\"', \t=", mostSpace)
	}
	value, to, ok := f.quoted(from)
	if !ok {
		if value, to = f.bare(from); joined {
			to = max(to, at.to)
		}
	}
	if value >= to {
		return 0
	}
	cut, is := optionValue(f.judge, f.command, letter, t[value:to], joined)
	if !is {
		return 0
	}
	return f.add(value+cut, to)
}

// optionValue judges the value of a short option of a program, and says where in it the
// secret begins.
func optionValue(j *judge, program, letter, value string, joined bool) (int, bool) {
	takes := programOptions(program)
	pair, known := strings.HasPrefix(takes, "+"), takes != "" && strings.Contains(takes, letter)
	if known && !pair {
		if strings.Trim(value, "0123456789:") == "" && program == "docker" { // ports
			return 0, false
		}
		if joined && identifier(value) && kindsOf(value).digits == 0 && program != "mysql" && program != "mysqldump" && program != "mariadb" {
			return 0, false
		}
		return 0, !strings.HasPrefix(value, "-") && j.value(isSecret, value, written)
	}
	if program == "curl" && letter == "b" {
		cut := strings.IndexByte(value, '=')
		return cut + 1, cut > 0 && j.value(isSecret, value[cut+1:], written)
	}
	if joined && !known || letter != "u" && !known || strings.Contains(value, "://") {
		return 0, false
	}
	cut := strings.IndexAny(value, ":%")
	if cut < 1 || cut+1 == len(value) {
		return 0, false
	}
	how := told
	if known {
		how = written
	}
	return cut + 1, j.value(isSecret, value[cut+1:], how) && strings.Trim(value, "0123456789:") != ""
}
