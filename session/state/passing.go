package state

import (
	"encoding/json"
	"regexp"

	"github.com/abidehub/abide/session/event"
)

// mostTries is how often a job tries again after errors of its model's provider, until a round
// ends without one.
const mostTries = 3

// passingWords are in what agents say of an error of the model's provider that passes: too
// many requests, a server that fails or has too much to do, or no network to it.
var passingWords = regexp.MustCompile(`(?i)\b(429|500|502|503|504|529)\b|overload|rate.?limit|too many requests|internal server error|server_error|service unavailable|temporarily unavailable|bad gateway|gateway time.?out|resource.?exhausted|\b(ECONNRESET|ECONNREFUSED|ECONNABORTED|ENOTFOUND|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|EAI_AGAIN|EPIPE)\b|fetch failed|network error|socket hang.?up|connection error|unable to connect|stream disconnected`)

// lasting are the kinds that agents give (errorKind) to errors that come again.
var lasting = map[string]bool{
	"authentication_failed": true, "oauth_org_not_allowed": true, "billing_error": true,
	"invalid_request": true, "model_not_found": true, "max_output_tokens": true,
}

// passes reports whether a turn ended with an error of the model's provider that may be gone a
// little later.
func passes(end event.TurnEnd) bool {
	if !ofProvider(end) {
		return false
	}
	var raw struct {
		Data struct {
			Kind string `json:"errorKind"`
		} `json:"data"`
	}
	if json.Unmarshal(end.Raw, &raw) == nil && lasting[raw.Data.Kind] {
		return false
	}
	return passingWords.MatchString(end.Error.Message) || passingWords.Match(end.Raw)
}

// ofProvider reports whether a turn ended with an error that its agent tells of the model's
// provider.
func ofProvider(end event.TurnEnd) bool {
	return end.Error != nil && end.StopReason == event.StopInterrupted && end.Error.Code != CodeAuthRequired
}
