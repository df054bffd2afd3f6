package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/server/wire"
)

// resumeAnswer is what resume --json prints.
type resumeAnswer struct {
	SessionID      string `json:"session_id"`
	InterruptionID string `json:"interruption_id"`
	client.Resumed
}

func (p *Program) resume() *cobra.Command {
	var way string
	var confirm []string
	cmd := p.onSession(&cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a turn that was cut off",
		Long: "Go on with a turn that was cut off: the agent is told what it had done, and how the workspace is now. Where\n" +
			"something has changed since, the hub wants it confirmed: it exits with 4 and names what --confirm takes.",
		Example: "abide resume -\nabide resume 9f3a --confirm stale",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		open, err := interruption(ctx, hub, s)
		if err != nil {
			return err
		}
		request := client.Resume{InterruptionID: open.InterruptionID, Way: way, Confirm: confirm}
		resumed, err := hub.Resume(ctx, s.SessionID, request)
		if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && len(refused.Needs) > 0 {
			return withCode(ExitRefused, "%w (--confirm %s)", err, strings.Join(refused.Needs, " --confirm "))
		}
		if err != nil || p.json {
			return p.orJSON(resumeAnswer{s.SessionID, open.InterruptionID, resumed}, err)
		}
		return nil
	})
	cmd.Flags().StringVar(&way, "way", "", "how the agent gets its memory back: `W` is auto, server, local or segmented (default auto)")
	cmd.Flags().StringArrayVar(&confirm, "confirm", nil, "confirm `WHAT` has changed; may be given again")
	p.JSONFlag(cmd)
	return cmd
}

func (p *Program) dismiss() *cobra.Command {
	return p.quiet(&cobra.Command{
		Use: "dismiss ID", Short: "Leave a turn that was cut off as it is",
		Long:    "Leave a turn that was cut off as it is. The prompts that wait in the queue go on.",
		Example: "abide dismiss -", Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) (wire.SessionInfo, error) {
		open, err := interruption(ctx, hub, s)
		if err != nil {
			return s, err
		}
		if err := hub.Dismiss(ctx, s.SessionID, open.InterruptionID); err != nil {
			return s, err
		}
		return hub.Session(ctx, s.SessionID)
	})
}

func interruption(ctx context.Context, hub *client.Hub, s wire.SessionInfo) (client.Interruption, error) {
	open, err := hub.Interruption(ctx, s.SessionID)
	if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		err = withCode(ExitNotFound, "no turn of %s was cut off", s.SessionID)
	}
	return open, err
}
