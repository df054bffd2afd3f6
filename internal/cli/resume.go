package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/abidehub/abide/internal/client"
	"github.com/abidehub/abide/internal/plain"
	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
)

// resumeAnswer is what resume --json prints.
type resumeAnswer struct {
	SessionID      string `json:"session_id"`
	InterruptionID string `json:"interruption_id"`
	wire.Resumed
}

func (p *Program) resume() *cobra.Command {
	var way string
	var apply, keep bool
	var confirm []string
	cmd := p.onSession(&cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a turn that was cut off",
		Long: "Go on with a turn that was cut off: the agent is told what it had done, and how the workspace is now. Where\n" +
			"something has changed since, the hub wants it confirmed: it exits with 4 and names the flags. An agent that comes back with other\n" +
			"settings, such as a mode that allows more, is given nothing until one of --apply-session-settings and\n" +
			"--keep-current-config says which count.",
		Example: "abide resume -\nabide resume 9f3a --confirm stale --apply-session-settings",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, hub *client.Hub, s wire.SessionInfo, _ []string) error {
		if apply && keep {
			return Usagef("--apply-session-settings and --keep-current-config exclude each other")
		}
		open, err := interruption(ctx, hub, s)
		if err != nil {
			return err
		}
		request := wire.Resume{InterruptionID: open.InterruptionID, Way: way, Drift: driftChoice(apply, keep), Confirm: confirm}
		resumed, err := hub.Resume(ctx, s.SessionID, request)
		if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && len(refused.Needs) > 0 {
			return withCode(ExitRefused, "%w%s: %s", err, driftWords(open.Drift), strings.Join(confirming(refused.Needs), " "))
		}
		if err != nil {
			return err
		}
		if err := p.begun(ctx, hub, s, resumed); err != nil || !p.json {
			return err
		}
		return p.PrintJSON(resumeAnswer{s.SessionID, open.InterruptionID, resumed})
	})
	cmd.Flags().StringVar(&way, "way", "", "how the agent gets its memory back: `W` is auto, server or local (default auto)")
	cmd.Flags().StringArrayVar(&confirm, "confirm", nil, "confirm `WHAT` has changed; may be given again")
	cmd.Flags().BoolVar(&apply, "apply-session-settings", false, "give the agent the session's recorded mode, model and options again")
	cmd.Flags().BoolVar(&keep, "keep-current-config", false, "keep the settings with which the agent comes back")
	p.JSONFlag(cmd)
	return cmd
}

const driftFlags = "--apply-session-settings or --keep-current-config"

func driftChoice(apply, keep bool) string {
	switch {
	case apply:
		return "apply"
	case keep:
		return "keep"
	}
	return ""
}

// confirming are the flags that confirm what a hub wants confirmed.
func confirming(needs []string) []string {
	var flags []string
	for _, need := range needs {
		if need == "drift" {
			flags = append(flags, driftFlags)
		} else {
			flags = append(flags, "--confirm "+need)
		}
	}
	return flags
}

// driftWords names the settings that differ, in brackets.
func driftWords(rows []wire.Drift) string {
	if len(rows) == 0 {
		return ""
	}
	var list []string
	for _, d := range rows {
		list = append(list, plain.Line(d.Field+" "+d.Current+", recorded "+d.Recorded))
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// begun waits until the agent is given the prompt, or is not because it came back
// with other settings.
func (p *Program) begun(ctx context.Context, hub *client.Hub, s wire.SessionInfo, resumed wire.Resumed) error {
	var paused bool
	err := p.follow(ctx, hub, s, s.MaxSeq, func(u client.Update) error {
		for _, e := range u.Events {
			payload, err := e.Payload()
			if err != nil {
				continue // of another version
			}
			switch of := payload.(type) {
			case event.TurnStart:
				if of.PromptID == resumed.PromptID {
					return errEnded
				}
			case event.TurnInterrupted:
				paused = paused || of.PromptID == resumed.PromptID && of.Reason == event.CutPaused
			case event.TurnEnd:
				if of.PromptID == resumed.PromptID {
					return errEnded
				}
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnded) {
		return err
	}
	if !paused {
		return nil
	}
	open, err := interruption(ctx, hub, s)
	if err != nil {
		return err
	}
	return withCode(ExitRefused, "the agent came back with other settings and is given nothing%s: resume with %s", driftWords(open.Drift), driftFlags)
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

func interruption(ctx context.Context, hub *client.Hub, s wire.SessionInfo) (wire.Offer, error) {
	open, err := hub.Interruption(ctx, s.SessionID)
	if refused := (*client.RefusedError)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		err = withCode(ExitNotFound, "no turn of %s was cut off", s.SessionID)
	}
	return open, err
}
