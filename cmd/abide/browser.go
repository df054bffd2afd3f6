package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/abidehub/abide/session/acp"
)

// openName is the page that sends a browser on to the pairing link.
const openName = "open.html"

// openBrowser opens a link in the person's browser, if there is a screen. The
// link goes by way of a private file: the arguments of a program are there for
// every user of the machine to read.
func openBrowser(ctx context.Context, env []string, dir, link string, life time.Duration) error {
	opener, ok := browserCommand(env)
	if !ok {
		return nil
	}
	path := filepath.Join(dir, openName)
	page := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer><meta http-equiv=refresh content='0;url=%s'><title>abide</title>", html.EscapeString(link))
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		return fmt.Errorf("opening the browser: %w", err)
	}
	defer os.Remove(path)
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	cmd := exec.CommandContext(ctx, opener, "file://"+path)
	cmd.Env = append(slices.Clip(env), acp.NotAnAgents()) // the browser outlives every agent
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("opening the browser: %w", err)
	}
	// The browser reads the file some time after the opener returned.
	<-ctx.Done()
	return nil
}

// browse opens an address that is no secret in the person's browser.
func browse(ctx context.Context, env []string, address string) error {
	opener, ok := browserCommand(env)
	if !ok {
		return nil
	}
	cmd := exec.CommandContext(ctx, opener, address)
	cmd.Env = append(slices.Clip(env), acp.NotAnAgents())
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("opening the browser: %w", err)
	}
	return nil
}

func browserCommand(env []string) (string, bool) {
	if runtime.GOOS == "darwin" {
		return "open", true
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
		if envValue(env, name) != "" {
			return "xdg-open", true
		}
	}
	return "", false
}

func envValue(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}
