package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/session/acp"
	"github.com/abidehub/abide/session/event"
)

// An agent that closes its stdin or stdout and lives on is of no use: it is ended with
// all that it started, and the reason names what it closed.
func TestAnAgentThatClosesAPipeIsEndedAndItIsSaid(t *testing.T) {
	for _, pipe := range []string{"stdin", "stdout"} {
		closing := func(t *testing.T) (acp.Config, *sink) {
			cfg := config(t, "closes")
			cfg.Env["ACP_TEST_CLOSES"] = pipe
			return cfg, newSink()
		}
		t.Run(pipe+" at its start", func(t *testing.T) {
			cfg, s := closing(t)
			_, err := acp.Start(context.Background(), cfg, s)
			require.EqualError(t, err, "it closed its standard "+strings.Replace(pipe, "std", "", 1)+"put before it answered")
			require.ErrorIs(t, err, acp.ErrGone)
			require.Equal(t, []event.Type{event.TypeError, event.TypeAgentExit}, types(s.all()))
			require.Contains(t, first[event.Error](t, s).Message, err.Error())
			requireNothingLeft(t, exitOf(t, s), pipe+"_closed")
		})
		t.Run(pipe+" in a turn", func(t *testing.T) {
			cfg, s := closing(t)
			cfg.Env["ACP_TEST_IN_TURN"] = "1"
			a := start(t, cfg, s)
			require.NoError(t, a.Prompt(prompt("p", "hello")))
			if pipe == "stdin" {
				choose(t, a, s, 0, "a") // a closed stdin shows only when something is written
			}
			<-a.Done()
			require.Equal(t, "busy", message(s))
			requireNothingLeft(t, exitOf(t, s), pipe+"_closed")
		})
	}
}

func requireNothingLeft(t *testing.T, exit event.AgentExit, reason string) {
	t.Helper()
	require.Equal(t, reason, exit.Reason)
	pids := strings.Fields(exit.StderrTail)
	require.Len(t, pids, 2)
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.ErrorIs(t, syscall.Kill(n, 0), syscall.ESRCH)
	}
}

// An agent whose folder was removed fails with whatever it was doing: the folder is named.
func TestAFolderThatWasRemovedIsNamed(t *testing.T) {
	homeless := func(t *testing.T, when string) (acp.Config, *sink) {
		cfg := config(t, "homeless")
		cfg.Env["ACP_TEST_WHEN"] = when
		return cfg, newSink()
	}
	t.Run("it exits at its start", func(t *testing.T) {
		cfg, s := homeless(t, "start")
		_, err := acp.Start(context.Background(), cfg, s)
		require.EqualError(t, err, "its folder "+cfg.Workspace+" does not exist")
	})
	t.Run("it exits in a turn", func(t *testing.T) {
		cfg, s := homeless(t, "turn")
		a := start(t, cfg, s)
		require.NoError(t, a.Prompt(prompt("p", "hello")))
		exit := exitOf(t, s)
		require.Equal(t, "folder_gone", exit.Reason)
		require.Equal(t, 1, *exit.Code)
	})
	t.Run("it answers with an error", func(t *testing.T) {
		cfg, s := homeless(t, "error")
		a := start(t, cfg, s)
		require.NoError(t, a.Prompt(prompt("p", "hello")))
		require.Equal(t, "Internal error: ENOENT: uv_cwd. Its folder "+cfg.Workspace+" does not exist.", ended(t, s, "p").Error.Message)
		require.NoError(t, a.Stop(context.Background()))
		require.Equal(t, "stopped", exitOf(t, s).Reason, "the hub stopped it")
	})
	t.Run("the check names it, too", func(t *testing.T) {
		cfg, _ := homeless(t, "turn")
		require.ErrorContains(t, acp.Check(context.Background(), cfg, "hello").Err, "its folder "+cfg.Workspace+" does not exist")
	})
}

func TestAMissingInterpreterIsNamed(t *testing.T) {
	cfg := config(t, "demo")
	script := filepath.Join(t.TempDir(), "agent")
	require.NoError(t, os.WriteFile(script, []byte("#! /no/such/node --flag\nrun\n"), 0o700))
	cfg.Command = []string{script}
	_, err := acp.Start(context.Background(), cfg, newSink())
	require.ErrorContains(t, err, "its interpreter /no/such/node does not exist")
	cfg.Command = []string{script + "s"}
	_, err = acp.Start(context.Background(), cfg, newSink())
	require.ErrorContains(t, err, "s\" does not exist")
}
