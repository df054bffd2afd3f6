package plain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/plain"
)

const form = `{"type":"object","required":["who","sure"],"properties":{
	"who":{"type":"string","title":"Name","description":"as it\u001b[2J is","minLength":1,"maxLength":40},
	"sure":{"type":"boolean"},
	"loud":{"type":"boolean","default":false},
	"count":{"type":"integer","minimum":1,"maximum":9,"default":1},
	"part":{"type":"number","minimum":0},
	"tone":{"type":"string","oneOf":[{"const":"w","title":"Warm"},{"const":"d","title":"Dry"}]},
	"size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"],"default":"l"},
	"tags":{"type":"array","items":{"anyOf":[{"const":"a","title":"Apple"},{"const":"b"}]},"maxItems":2},
	"odd":7}}`

func TestAFieldSaysWhatItTakes(t *testing.T) {
	var lines []string
	for _, field := range plain.Fields(json.RawMessage(form)) {
		lines = append(lines, field.String())
	}
	require.Equal(t, []string{
		"Name (a text, 1 to 40 characters) — as it␛[2J is",
		"sure (yes or no)",
		"loud (yes or no; empty: no)",
		"count (a whole number, 1 to 9; empty: 1)",
		"part (a number, at least 0; may be empty)",
		"tone (1 Warm · 2 Dry; may be empty)",
		"size (1 Small · 2 Large; empty: Large)",
		"tags (1 Apple · 2 b, several with commas, at most 2 of them; may be empty)",
		"odd (a text; may be empty)",
	}, lines)
	for _, nonsense := range []string{``, `7`, `{}`, `{"properties":[]}`, `{"properties":{"a"`} {
		require.Empty(t, plain.Fields(json.RawMessage(nonsense)), nonsense)
	}
}

func TestAFieldReadsWhatAPersonTypes(t *testing.T) {
	fields := map[string]plain.Field{}
	for _, field := range plain.Fields(json.RawMessage(form)) {
		fields[field.Name] = field
	}
	for _, c := range []struct{ field, typed, value string }{
		{"who", " Ada ", `"Ada"`},
		{"sure", "YES", `true`},
		{"sure", "n", `false`},
		{"loud", "", `false`},
		{"count", "7", `7`},
		{"count", "", `1`},
		{"count", "+07", `7`},
		{"part", "2.5e3", `2500`},
		{"part", "", `null`},
		{"tone", "2", `"d"`},
		{"tone", "warm", `"w"`},
		{"tone", "", `null`},
		{"size", "", `"l"`},
		{"tags", "b, 1", `["b","a"]`},
		{"tags", "", `null`},
		{"odd", "x", `"x"`},
	} {
		value, err := fields[c.field].Read(c.typed)
		require.NoError(t, err, "%s %q", c.field, c.typed)
		data, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, c.value, string(data), "%s %q", c.field, c.typed)
	}
	for _, c := range []struct{ field, typed, fault string }{
		{"who", "", "Name is needed"},
		{"sure", "", "sure is needed"},
		{"sure", "maybe", `"maybe" is neither yes nor no`},
		{"count", "2.5", `"2.5" is not a whole number`},
		{"part", "NaN", `"NaN" is not a number`},
		{"tone", "3", `"3" is not one of the 2 choices`},
		{"tags", "a,c", `"c" is not one of the 2 choices`},
	} {
		_, err := fields[c.field].Read(c.typed)
		require.EqualError(t, err, c.fault)
	}
}

// A value outside of its limits is refused when it is typed, in words.
func TestAFieldChecksItsLimits(t *testing.T) {
	fields := map[string]plain.Field{}
	for _, field := range plain.Fields(json.RawMessage(`{"properties":{
		"n":{"type":"integer","minimum":1,"maximum":9},"x":{"type":"number","maximum":0.5},
		"s":{"type":"string","title":"Name","minLength":2,"maxLength":3},"l":{"type":"array","maxItems":2,"items":{"enum":["a","b","c"]}},
		"mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"}}}`)) {
		fields[field.Name] = field
	}
	for _, c := range []struct{ field, typed, fault string }{
		{"n", "0", "n takes 1 to 9"}, {"n", "10", "n takes 1 to 9"}, {"n", "9", ""},
		{"x", "0.6", "x takes at most 0.5"}, {"x", "-4", ""},
		{"s", "a", "Name takes 2 to 3 characters"}, {"s", "äöüß", "Name takes 2 to 3 characters"}, {"s", "äöü", ""},
		{"l", "a,b,c", "l takes at most 2 of them"}, {"l", "a,b", ""},
		{"mail", "ann", `"ann" is not an address such as ann@example.org`}, {"mail", "ann@example.org", ""},
		{"site", "example", `"example" is not an address such as https://example.org`}, {"site", "https://example.org/a", ""},
		{"day", "21.2.2026", `"21.2.2026" is not a date such as 2026-02-21`}, {"day", "2026-02-21", ""},
		{"at", "2026-02-21", `"2026-02-21" is not a time such as 2026-02-21T14:00:00Z`}, {"at", "2026-02-21T14:00:00Z", ""},
	} {
		_, err := fields[c.field].Read(c.typed)
		if c.fault == "" {
			require.NoError(t, err, "%s %q", c.field, c.typed)
			continue
		}
		require.EqualError(t, err, c.fault)
	}
}
