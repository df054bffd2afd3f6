package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/abidehub/abide/internal/plain"
)

// isTerminal reports whether a stream is a terminal a person sits at.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// WriteJSON writes a value as a line of JSON, indented where w is a terminal.
func WriteJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if isTerminal(w) {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	_, err := w.Write(plain.JSON(b.Bytes()))
	return err
}
