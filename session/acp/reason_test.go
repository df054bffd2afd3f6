package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/event"
)

// TestALongErrorIsBoundedInTheLog has an agent that puts 3 MB into its error.
func TestALongErrorIsBoundedInTheLog(t *testing.T) {
	for name, refusal := range map[string]string{
		"message": fmt.Sprintf(`{"code":1,"message":%q}`, strings.Repeat("no credit ", 300_000)),
		"data":    fmt.Sprintf(`{"code":1,"message":"no credit","data":{"trace":%q}}`, strings.Repeat("x", 3_000_000)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "fails")
			file := filepath.Join(t.TempDir(), "error")
			require.NoError(t, os.WriteFile(file, []byte(refusal), 0o600))
			cfg.Env["ACP_TEST_ERROR_FILE"] = file
			a := start(t, cfg, s)
			require.NoError(t, a.Prompt(prompt("p", "hello")))
			end := first[event.TurnEnd](t, s)
			require.True(t, strings.HasPrefix(end.Error.Message, "no credit"))
			require.Contains(t, end.Error.Message, fmt.Sprintf("(its error has %d bytes)", len(refusal)))
			require.Less(t, len(end.Error.Message), 5000)
			require.JSONEq(t, fmt.Sprintf(`{"left_out_bytes":%d}`, len(refusal)), string(end.Raw))
		})
	}
}

func TestAnErrorSaysItsReasonInTheAgentsWords(t *testing.T) {
	for name, c := range map[string]struct{ err, want string }{
		"no data":                           {`{"code":-32603,"message":"Internal error"}`, "Internal error"},
		"data is a string":                  {`{"code":-32603,"message":"Internal error","data":"no credit left"}`, "Internal error: no credit left"},
		"message in data":                   {`{"code":-32603,"message":"Internal error.","data":{"message":"no credit left"}}`, "Internal error: no credit left"},
		"details in data":                   {`{"code":-32603,"message":"Internal error","data":{"details":"model not found"}}`, "Internal error: model not found"},
		"reason in data":                    {`{"code":1,"message":"failed","data":{"reason":"overloaded"}}`, "failed: overloaded"},
		"an error in an error":              {`{"code":1,"message":"failed","data":{"error":{"type":"x","message":"too long"}}}`, "failed: too long"},
		"the data repeats it":               {`{"code":1,"message":"no key","data":{"message":"no key"}}`, "no key"},
		"the data says more":                {`{"code":1,"message":"no key","data":"no key: set X_KEY"}`, "no key: set X_KEY"},
		"JSON in the message":               {`{"code":1,"message":"API Error: 400 {\"type\":\"error\",\"error\":{\"message\":\"bad model\"}}"}`, "API Error: 400 bad model"},
		"JSON in the data":                  {`{"code":1,"message":"Internal error","data":"{\"error\":{\"message\":\"bad model\"}}"}`, "Internal error: bad model"},
		"words after the JSON":              {`{"code":1,"message":"API Error: 400 {\"error\":{\"message\":\"bad model\"}} (request 7)"}`, "API Error: 400 bad model (request 7)"},
		"JSON twice":                        {`{"code":1,"message":"tried {\"message\":\"a\"}, then {\"message\":\"b\"}."}`, "tried a, then b."},
		"a list in the message":             {`{"code":1,"message":"invalid: [{\"path\":[\"x\"],\"message\":\"Required\"}, {\"message\":\"too long\"}] in params"}`, "invalid: Required; too long in params"},
		"a list in the data":                {`{"code":1,"message":"failed","data":["no key","no credit","no key"]}`, "failed: no key; no credit"},
		"a list of errors":                  {`{"code":1,"message":"failed","data":{"errors":[{"message":"no key"},{"detail":"no credit"}]}}`, "failed: no key; no credit"},
		"a list without a reason":           {`{"code":1,"message":"one of [\"a\", \"b\"] and [1] {x}","data":[1,2]}`, `one of ["a", "b"] and [1] {x}`},
		"JSON that is cut off":              {`{"code":1,"message":"API Error: {\"error\":{\"message\":\"bad"}`, `API Error: {"error":{"message":"bad`},
		"brackets without end":              {fmt.Sprintf(`{"code":1,"message":"failed","data":%q}`, strings.Repeat("[{", 30_000)), "failed: " + strings.Repeat("[{", 1996) + " …"},
		"JSON without a reason":             {`{"code":1,"message":"bad value {\"a\":1}"}`, `bad value {"a":1}`},
		"no message":                        {`{"code":1,"data":{"details":"quota"}}`, "quota"},
		"nothing":                           {`{"code":1}`, "an error without a message"},
		"message is a number":               {`{"code":1,"message":7}`, "7"},
		"message is an object":              {`{"code":1,"message":{"text":"x","error":"no credit"}}`, "no credit"},
		"message is a number, data says it": {`{"code":1,"message":7,"data":"no credit"}`, "7: no credit"},
		"a text":                            {`"boom"`, "boom"},
		"a number":                          {`7`, "7"},
		"the code is a text":                {`{"code":"E_AUTH","message":"no key"}`, "no key"},

		"data is a number":        {`{"code":1,"message":"failed","data":7}`, "failed"},
		"nested without end":      {`{"code":1,"message":"failed","data":` + strings.Repeat(`{"data":`, 50) + `"deep"` + strings.Repeat("}", 50) + `}`, "failed"},
		"a reason without an end": {fmt.Sprintf(`{"code":1,"message":"failed","data":%q}`, strings.Repeat("é", 5000)), "failed: " + strings.Repeat("é", 1996) + " …"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink()
			cfg := config(t, "fails")
			cfg.Env["ACP_TEST_ERROR"] = c.err
			a := start(t, cfg, s)
			require.NoError(t, a.Prompt(prompt("p", "hello")))
			end := first[event.TurnEnd](t, s)
			require.Equal(t, c.want, end.Error.Message)
		})
	}
}
