package screen

import (
	"fmt"
	"strings"

	"github.com/abidehub/abide/internal/cells"
	"github.com/abidehub/abide/server/wire"
)

// overlay lays a restore over the body: how far it is, and the key that ends it.
func overlay(body []string, restore *wire.Restore, columns, height int) []string {
	if restore == nil {
		return body
	}
	text := []string{"The agent is told the session", progress(*restore), "Ctrl-X cancels"}
	width := 0
	for _, line := range text {
		width = max(width, len([]rune(line)))
	}
	width = max(0, min(width, columns-4))
	box := []string{"┌" + strings.Repeat("─", width+2) + "┐"}
	for _, line := range text {
		box = append(box, "│ "+cells.Padded(line, width)+" │")
	}
	box = append(box, "└"+strings.Repeat("─", width+2)+"┘")
	for len(body) < height {
		body = append(body, "")
	}
	left := strings.Repeat(" ", max(0, (columns-width-4)/2))
	top := max(0, (height-len(box))/2)
	for i, row := range box {
		if top+i < len(body) {
			body[top+i] = left + row
		}
	}
	return body
}

// progress is how far the agent has been told the session.
func progress(r wire.Restore) string {
	const full = 10
	done := min(full, r.Percent*full/100)
	return fmt.Sprintf("[%s%s] %d/%d · ~%d tokens · %d %%", strings.Repeat("#", done), strings.Repeat(".", full-done), r.Done, r.Total, r.Tokens, r.Percent)
}
