package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// judge decides of a name and a value whether the value is a secret. JSON, text, headers,
// arguments, addresses and tables ask it.
type judge struct {
	roots, whole, keys, harmless, plain, counts, kinds, passes, codes map[string]bool
}

// Words, lower case, by which names and values are judged.
const (
	// secretRoots end a word that names a secret.
	secretRoots = "password passwords passwd passphrase passcode passwort kennwort contraseña senha pwd secret secrets token tokens " +
		"apikey privatekey accesskey signingkey accountkey secretkey encryptionkey sharedkey masterkey credential credentials creds " +
		"authorization cookie cookies psk пароль 密码 密碼 パスワード 비밀번호 hasło heslo lösenord wachtwoord parola salasana şifre"
	// secretWords name a secret as a whole word. Auth, sig and the like may be other things,
	// so that their values have to look random.
	secretWords  = "passe requirepass masterauth dbpass sshpass userpass keypass storepass rootpass adminpass smtppass ftppass mysqlpass pgpass jwt"
	weakWords    = "auth sig signature bearer httpauth basicauth proxyauth otp totp seed mnemonic sessionid hmac pin"
	beforeCode   = "recovery backup verification"
	beforeKey    = "hash api private access signing account encryption master shared secret storage consumer subscription license deploy webhook rsa aes hmac session client auth app service"
	afterSecret  = "id ids count counts usage used limit limits max min size sizes length len type types url uri urls endpoint path paths file files filename name names field fields expires expiry expiration ttl at age policy policies manager budget rate index bucket store provider required valid enabled disabled status kind env ref version scope scopes prefix hint reset prompt strength rules rule created updated date in per stdin input form format label title description placeholder generator validator helper handler service user username host port list check error errors message messages page screen dialog button view rotation stream streams window change changes changed email hasher hashing encoder style styles color colors colour theme uses mode class option options string number num numbers boolean expression params parameters gen object buffer spec schema interface impl factory cache parser lexer source node algorithm alg encoding identity identities template templates lookup table map kinds matcher pattern regex regexp start end position offset line column range begin"
	beforePass   = "first second third final last next one two single multi render by all can will must to did should test tests"
	countsTokens = "max min total num number n count used input output prompt completion cached cache context budget remaining limit read write reasoning thinking usage per avg average estimated"
	harmlessNow  = "true false null nil none undefined string str text bytes byte boolean bool number int integer any object array list required optional missing invalid valid expired incorrect wrong empty unset set yes no on off default example placeholder redacted hidden masked removed unknown disabled enabled inherit prompt stdin interactive ask auto basic bearer digest negotiate value type title description username user name email login self this new func function return authentication authorization configuration environment protected encrypted hashed omit include same-origin"
)

func newJudge() *judge {
	set := func(words string) map[string]bool {
		m := map[string]bool{}
		for _, word := range strings.Fields(words) {
			m[word] = true
		}
		return m
	}
	return &judge{
		roots: set(secretRoots), whole: set(secretWords), keys: set(beforeKey), harmless: set(afterSecret), plain: set(harmlessNow),
		counts: set(countsTokens), kinds: set(weakWords), passes: set(beforePass), codes: set(beforeCode),
	}
}

// naming is how much a name says that its value is a secret.
type naming int

const (
	noSecret   naming = iota
	maySecret         // one of the weak words: the value has to look random
	areTokens         // a number counts them
	isToken           // token is also the word for pieces of text
	areSecrets        // passwords, credentials: a number counts them
	isSecret
)

// manner is how a value is given to its name.
type manner int

const (
	beside  manner = iota // they stand side by side: prose, two texts of a list
	told                  // "name: value" and "name = value" without quotes, a table, prose with "is"
	written               // NAME=value, a text in quotes, an option, a member of JSON, an element of XML
)

// name judges a name alone.
func (j *judge) name(name string) naming {
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	if !hasRoot(name) {
		return noSecret
	}
	list := words(visible(name).text)
	if len(list) == 0 || j.harmless[list[len(list)-1]] {
		return noSecret
	}
	best, counted := noSecret, false
	for i, word := range list {
		counted = counted || j.counts[word]
		switch {
		case word == "pass" || word == "pw":
			switch {
			case len(list) == 1:
				best = max(best, maySecret)
			case i == len(list)-1 && i > 0 && !j.passes[list[i-1]]:
				best = isSecret
			}
		case (word == "code" || word == "codes") && i > 0 && j.codes[list[i-1]]:
			best = isSecret
		case j.whole[word], (word == "key" || word == "keys") && i > 0 && j.keys[list[i-1]]:
			best = isSecret
		case i > 0 && list[i-1] == "pass" && (word == "word" || word == "phrase"):
			best = isSecret
		case j.kinds[word]:
			best = max(best, maySecret)
		default:
			best = max(best, j.root(word))
		}
	}
	if counted && best == isToken {
		return areTokens
	}
	return best
}

// root judges a word by its end.
func (j *judge) root(word string) naming {
	for at := range word {
		if end := word[at:]; j.roots[end] {
			switch end {
			case "token":
				return isToken
			case "tokens":
				return areTokens
			case "credentials", "creds", "passwords", "secrets", "cookies":
				return areSecrets
			}
			return isSecret
		}
	}
	return noSecret
}

// hasRoot tells quickly of most names that they name no secret.
func hasRoot(name string) bool {
	var lower [longestName]byte
	n := 0
	for i := 0; i < len(name) && n < len(lower); i++ {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= utf8.RuneSelf {
			return true // of another alphabet
		}
		if c >= 'a' && c <= 'z' {
			lower[n] = c
			n++
		}
	}
	text := string(lower[:n])
	for _, root := range []string{"pass", "pw", "psk", "secret", "token", "key", "cred", "auth", "cookie", "sig", "jwt", "bearer", "wort", "contrase", "senha", "otp", "seed", "mnemonic", "session", "hmac", "pin", "code", "parola", "hes", "wachtwoord", "salasana"} {
		if strings.Contains(text, root) {
			return true
		}
	}
	return false
}

// leastSecret is the length of the shortest secret, in bytes.
const leastSecret = 3

// value judges a value together with what its name says.
func (j *judge) value(as naming, value string, how manner) bool {
	value = strings.TrimSpace(value[:min(len(value), mostJudged)])
	if as == noSecret || len(value) < leastSecret || j.stands(value) {
		return false
	}
	k := kindsOf(value)
	if k.spaces > 0 && !schemed(value) {
		// A phrase in quotes may be a secret; one that speaks of secrets is prose.
		return how == written && as >= areSecrets && !j.speaks(value)
	}
	switch {
	case k.letters == 0 && k.signs == 0:
		return k.digits > 0 && counts(value, as, how)
	case k.letters == 0 && as < areSecrets, k.foreign > 0 && (k.digits == 0 || as < areSecrets):
		return false
	}
	if isPlace(value) || how != written && (j.refers(value, k) || strings.ContainsAny(value, "(){}") && !k.random()) {
		return false
	}
	switch {
	case as == maySecret || how == beside:
		return k.random() && !(as < areSecrets && how == beside && isHex(value))
	case how == told && identifier(value):
		return k.random() || k.mixed == 0 && (k.digits > 0 && len(value) >= 6 || len(value) >= 16)
	case how == told:
		return k.digits > 0 && len(value) >= 6 || len(value) >= 8
	case j.plain[strings.ToLower(value)], j.names(value, k):
		return false
	case as < areSecrets:
		return !strings.Contains(value, "(") && (len(value) >= 6 && k.digits > 0 || len(value) >= 16 || len(value) >= 8 && (k.mixed > 1 || k.signs > 0))
	}
	return true
}

// counts judges digits.
func counts(value string, as naming, how manner) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	switch as {
	case isSecret:
		return how != beside && len(value) >= 4
	case isToken:
		return how != beside && len(value) >= 8
	}
	return false
}

// stands reports whether something stands for the value: a mark, a variable, a call.
func (j *judge) stands(value string) bool {
	if strings.HasPrefix(value, gone[:len(gone)-1]) || strings.Trim(value, "*•xX.-_#…?") == "" {
		return true
	}
	for _, opener := range []string{"<", "${", "$(", "{{", "{%", "@{", "%(", "#{", "{", "[", "(", "&", "...", "op://", "vault:", "arn:", "file:", "env:", "process.env", "this.", "self.", "os.environ", "os.getenv", "os.Getenv", "import.meta", "ENV[", "secrets."} {
		if strings.HasPrefix(value, opener) {
			return true
		}
	}
	if value[0] == '$' && len(value) > 1 && strings.Trim(value[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return true
	}
	if len(value) > 1 && value[0] == '%' && strings.IndexByte("svdqxtT+#", value[1]) >= 0 && !kindsOf(value).random() {
		return true
	}
	return len(value) > 2 && value[0] == '%' && value[len(value)-1] == '%' || j.plain[strings.ToLower(value)]
}

// speaks reports of a phrase whether it is about secrets.
func (j *judge) speaks(phrase string) bool {
	for word := range strings.FieldsSeq(phrase) {
		if word = strings.Trim(word, ".,:;!?()'\""); j.name(word) != noSecret && strings.IndexFunc(word, unicode.IsDigit) < 0 {
			return true
		}
	}
	return false
}

// refers reports of a value without quotes whether it is a word of a program or of prose.
func (j *judge) refers(value string, k kinds) bool {
	if strings.ContainsAny(value, "([{") && !strings.HasPrefix(value, "[") && k.letters > 0 {
		return identifier(value[:strings.IndexAny(value, "([{")])
	}
	if !identifier(value) {
		return false
	}
	if k.digits > 0 {
		return k.mixed > 0 && j.name(value) != noSecret && len(words(value)) > 1
	}
	return k.dots > 0 || j.name(value) != noSecret || k.mixed < 2 && k.letters < 12 || j.plain[strings.ToLower(value)]
}

// names reports of a text in quotes whether it is the name of a secret, as in
// {"type":"refresh_token"}.
func (j *judge) names(value string, k kinds) bool {
	return k.digits == 0 && identifier(value) && j.name(value) != noSecret && (len(words(value)) > 1 || len(value) <= len("passphrase"))
}

// schemed reports of the value of an Authorization header whether it is a scheme and a value.
func schemed(value string) bool {
	scheme, rest, ok := strings.Cut(value, " ")
	return ok && isScheme(scheme) && !strings.Contains(strings.TrimSpace(rest), " ") && kindsOf(rest).words() == 0
}

func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "basic", "bearer", "token", "digest", "negotiate", "ntlm", "apikey", "key", "hawk", "aws4-hmac-sha256", "sharedkey", "oauth", "dpop":
		return true
	}
	return false
}

// isPlace reports whether the value is the address or the path of something.
func isPlace(value string) bool {
	if strings.Contains(value, "://") {
		return !strings.Contains(value, "@")
	}
	for _, opener := range []string{"/", "./", "../", "~/"} {
		if rest, ok := strings.CutPrefix(value, opener); ok {
			for segment := range strings.SplitSeq(rest, "/") {
				if kindsOf(segment).random() {
					return false
				}
			}
			return strings.Contains(rest, "/") || strings.Contains(rest, ".") || opener != "/"
		}
	}
	return false
}

func isHex(value string) bool {
	return strings.Trim(value, "0123456789abcdefABCDEF-") == ""
}
