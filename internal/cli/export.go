package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

func (p *Program) export() *cobra.Command {
	var e client.Export
	var file string
	cmd := p.onSession(&cobra.Command{
		Use:   "export ID",
		Short: "Write a session as a file",
		Long: "Write a session as a file, to stdout or to --output: html is a web page with player, to open without a network,\n" +
			"markdown for a pull request, zip the full archive, jsonl the raw events (abide import takes the last two).\n" +
			"--redact leaves out what should not leave this machine; with preview it tells how much that is.",
		Example: "abide export - --format html -o session.html\nabide export 9f3a --format markdown --redact secrets,paths | less",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		if !slices.Contains([]string{"jsonl", "markdown", "html", "zip"}, e.Format) {
			return Usagef("--format is jsonl, markdown, html or zip")
		}
		if seq, err := strconv.ParseInt(e.From, 10, 64); err == nil && event.Seq(seq) > s.MaxSeq {
			return Usagef("--from %s is beyond the end: the last event is %d", e.From, s.MaxSeq)
		}
		if file == "" {
			if e.Format == "zip" && isTerminal(p.Stdout) {
				return Usagef("cannot write a zip to a terminal: use -o FILE")
			}
			return hub.Export(ctx, s.SessionID, e, p.Stdout)
		}
		return writeFile(file, func(w io.Writer) error { return hub.Export(ctx, s.SessionID, e, w) })
	})
	cmd.Flags().StringVar(&e.Format, "format", "jsonl", "`F` is jsonl, markdown, html or zip")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`, which only you may read")
	cmd.Flags().StringVar(&e.From, "from", "", "begin with event `SEQ`, or with the first at a time")
	cmd.Flags().StringVar(&e.To, "to", "", "end with event `SEQ`, or before a time")
	cmd.Flags().StringSliceVar(&e.Redact, "redact", nil, "leave out `WHAT`: secrets, paths, images, thoughts, outputs; or preview")
	return cmd
}

// writeFile writes a new file whole: one that could not be written whole is removed.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return Usagef("%s is there already", name)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func (p *Program) importFile() *cobra.Command {
	cmd := p.onHub(&cobra.Command{
		Use:   "import FILE",
		Short: "Bring back an exported session",
		Long: "Bring back a session that abide export wrote as zip or jsonl, and print its id; - reads stdin. The same file again finds the\n" +
			"session that is there. An imported session can be read, played and commented on; nothing is added to it.",
		Example: "abide import session.zip\nabide export 9f3a --hub URL | abide import -",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, args []string) error {
		file := io.NopCloser(p.Stdin)
		if args[0] != "-" {
			var err error
			if file, err = open(args[0]); err != nil {
				return err
			}
		}
		defer file.Close()
		info, err := hub.Import(ctx, file)
		if err != nil || p.json {
			return p.orJSON(info, err)
		}
		_, err = fmt.Fprintln(p.Stdout, info.SessionID)
		return err
	})
	p.JSONFlag(cmd)
	return cmd
}
