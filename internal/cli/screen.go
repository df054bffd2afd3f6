package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/internal/screen"
	"github.com/abidehub/abide/server/wire"
)

// screens are the commands that take the whole terminal.
type screens struct {
	onHub   func(*cobra.Command, func(context.Context, *client.Hub, []string) error) *cobra.Command
	flag    func(*cobra.Command)
	connect func(context.Context) (*client.Hub, error)
	// possible reports whether a person sits at a terminal that can be drawn on.
	possible func() bool
	// root is the root of the project in which the person is; empty if the hub is elsewhere.
	root    func() (string, error)
	style   func(io.Writer) (plain.Style, error)
	in      io.Reader
	out     io.Writer
	environ []string
}

func (s screens) sessions() *cobra.Command {
	var all bool
	cmd := s.onHub(&cobra.Command{
		Use:   "sessions",
		Short: "Choose a session on the whole terminal: read, attach or resume it",
		Long: "Show the sessions of this project, those changed last first, on the whole terminal, and keep them true. Enter reads\n" +
			"one, attaches to it or resumes it, as Left and Right choose; S searches, A shows those of all projects, H is the\n" +
			"help, Esc leaves. abide ls prints the list for scripts.",
		Example: "abide sessions\nabide sessions --all",
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, hub *client.Hub, _ []string) error {
		if !s.possible() {
			return Usagef("sessions needs a terminal (`abide ls` prints the list)")
		}
		return s.show(ctx, hub, all, nil)
	})
	cmd.Flags().BoolVar(&all, "all", false, "begin with the sessions of all projects")
	s.flag(cmd)
	return cmd
}

// show shows the sessions, or the one given with its prompt box, until the person leaves.
func (s screens) show(ctx context.Context, hub *client.Hub, all bool, session *wire.SessionInfo) error {
	o, err := s.options(hub)
	if err != nil {
		return err
	}
	o.All = all
	return screen.Run(ctx, o, session)
}

// play plays a session, of the hub or of a file, until the person leaves.
func (s screens) play(ctx context.Context, hub *client.Hub, t screen.Tape) error {
	o, err := s.options(hub)
	if err != nil {
		return err
	}
	return screen.Play(ctx, o, t)
}

func (s screens) options(hub *client.Hub) (screen.Options, error) {
	style, err := s.style(s.out)
	if err != nil {
		return screen.Options{}, err
	}
	root, err := s.root()
	return screen.Options{Hub: hub, Project: root, Style: style, In: s.in, Out: s.out, Environ: s.environ, Words: Words}, err
}

// alone is `abide` without a command: the sessions at a terminal, else the help.
func (s screens) alone(cmd *cobra.Command) error {
	if !s.possible() {
		return cmd.Help()
	}
	hub, err := s.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer hub.Close()
	return s.show(cmd.Context(), hub, false, nil)
}
