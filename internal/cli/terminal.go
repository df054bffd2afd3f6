package cli

import (
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/abidehub/abide/internal/plain"
)

// interactive reports whether a person can be asked.
func (p *Program) interactive() bool { return isTerminal(p.Stdin) && isTerminal(p.Stdout) }

// width is how many cells a line of stdout has, or 0 where that means nothing.
func (p *Program) width() int {
	if file, ok := p.Stdout.(*os.File); ok && isTerminal(file) {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return columns
		}
	}
	if columns, err := strconv.Atoi(p.variable("COLUMNS")); err == nil && isTerminal(p.Stdout) {
		return columns
	}
	return 0
}

func (p *Program) colorFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.color, "color", "auto", "colour the output: `WHEN` is auto, always or never")
	cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
}

// style decides about colour: --color, else NO_COLOR, else whether w is a
// terminal that knows colours.
func (p *Program) style(w io.Writer) (plain.Style, error) {
	switch p.color {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto", "":
		return plain.Style(p.variable("NO_COLOR") == "" && p.variable("TERM") != "dumb" && isTerminal(w)), nil
	}
	return false, Usagef("--color is auto, always or never")
}
