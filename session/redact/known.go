package redact

import (
	"encoding/base64"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Bounds of the values that are looked for elsewhere: their length in bytes, how many there
// are, and how much of a longer one is compared: it ends with its word.
const (
	leastKnown = 8
	mostKnown  = 2000
	mostHead   = 64
)

// known finds the values of secrets wherever they are. The zero known has none.
type known struct {
	values  []string // sorted
	shorter []int    // of each the longest other that it begins with; -1 if there is none
	begin   [1 << 12]bool
}

func newKnown(set map[string]bool) *known {
	k := &known{values: slices.Sorted(maps.Keys(set))}
	for i, value := range k.values {
		before := i - 1
		for before >= 0 && !strings.HasPrefix(value, k.values[before]) {
			before = k.shorter[before]
		}
		k.shorter = append(k.shorter, before)
		k.begin[hashOfBegin(value)] = true
	}
	return k
}

func hashOfBegin(text string) int {
	return int(text[0])<<4&0xff0 ^ int(text[1])<<2 ^ int(text[2]) ^ int(text[3])<<4&0xfff
}

// at is the length of the longest value that text begins with; 0 if there is none.
func (k *known) at(text string) int {
	if len(text) < leastKnown || !k.begin[hashOfBegin(text)] {
		return 0
	}
	i := sort.Search(len(k.values), func(i int) bool { return k.values[i] > text }) - 1
	for i >= 0 && !strings.HasPrefix(text, k.values[i]) {
		i = k.shorter[i]
	}
	if i < 0 {
		return 0
	}
	return len(k.values[i])
}

// begins reports whether a value begins with a text.
func (k *known) begins(text string) bool {
	i := sort.SearchStrings(k.values, text)
	return i < len(k.values) && strings.HasPrefix(k.values[i], text)
}

// find returns where values are in a text, also in base64 of it or of more.
func (k *known) find(text string) (found []span) {
	if k == nil || len(k.values) == 0 {
		return nil
	}
	for i := 0; i+leastKnown <= len(text); i++ {
		if n := k.at(text[i:]); n > 0 {
			end := i + n
			for n == mostHead && end < len(text) && !ends(text[end]) {
				end++
			}
			found = append(found, span{i, end})
			i = end - 1
		}
	}
	const leastRun = 11 // of leastKnown bytes
	for i := 0; i < len(text); i++ {
		if !inBase64(text[i]) {
			continue
		}
		end := i
		for end < len(text) && inBase64(text[end]) {
			end++
		}
		if end-i >= leastRun && k.encoded(text[i:end]) {
			found = append(found, span{i, skip(text, end, "=", 2)})
		}
		i = end
	}
	return found
}

func inBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// encoded reports whether a value is in what a run of base64 stands for. A path may be
// before it, so that it begins at any place.
func (k *known) encoded(run string) bool {
	const group = 4
	shifts := 1
	if strings.ContainsAny(run, "+/-_") {
		shifts = group
	}
	for shift := range shifts {
		plain, _ := decode64(run[shift:])
		for i := 0; i+leastKnown <= len(plain); i++ {
			if k.at(plain[i:]) > 0 {
				return true
			}
		}
	}
	return false
}

// decode64 decodes base64 of either alphabet.
func decode64(text string) (string, bool) {
	if text = strings.TrimRight(text, "="); strings.ContainsAny(text, "-_") {
		text = strings.NewReplacer("-", "+", "_", "/").Replace(text)
	}
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(text)
	return string(plain), err == nil
}
