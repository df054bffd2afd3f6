package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // of the page's own script and style
	"encoding/base64"
	"fmt"
	"html"
	"io"

	"github.com/abidehub/abide/session/event"
)

// The script and the style are built of the app's own player: "npm run page" in frontend.
//
//go:embed player.js
var playerScript string

//go:embed player.css
var playerStyle string

// page writes one file that shows and plays the session in a browser, from the disk and
// with no network. Its policy allows the one script that is in it; the session is inert
// JSON, already redacted, which the script renders as the app does.
func (s Session) page(ctx context.Context, w io.Writer, r *redactor) error {
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; script-src '" + hashOf(playerScript) + "'; style-src '" + hashOf(playerStyle) + "'"
	title := html.EscapeString(oneLine(r.name(s), s.SessionID))
	_, err := fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>%s</title><style>%s</style></head><body>
<header><h1>%s</h1><p id="about" class="faint">%s</p>
<details id="turns" hidden><summary>Turns</summary><ol id="chapters"></ol></details></header>
<main><div id="feed"></div><button id="more" type="button" hidden>Show more</button></main>
<footer><button id="play" type="button">Play</button>
<div class="along"><svg id="marks" aria-hidden="true"></svg><input id="seek" type="range" min="0" value="0" aria-label="Event"></div>
<output id="at"></output>
<label>Speed <select id="speed"><option>0.5</option><option selected>1</option><option>2</option><option>4</option><option>8</option><option>16</option></select></label>
<label class="wide"><input id="loop" type="checkbox"> Repeat</label></footer>
<noscript><p>The session is in this file as lines of JSON; the player needs JavaScript.</p></noscript>
<script id="events" type="application/json">
`, html.EscapeString(policy), title, playerStyle, title, html.EscapeString(r.text(s.Agent)))
	if err != nil {
		return err
	}
	err = s.each(ctx, r, func(e event.Event) error {
		line, err := lineOf(e)
		if err == nil {
			_, err = w.Write(inert(line))
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "</script>\n<script>%s</script>\n</body></html>\n", playerScript)
	return err
}

// inert is a line of JSON without "<", which alone could end its element.
func inert(line []byte) []byte {
	return append(bytes.ReplaceAll(line, []byte("<"), []byte(`\u003c`)), '\n')
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
