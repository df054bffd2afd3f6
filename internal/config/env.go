package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/abidehub/abide/internal/outgoing"
)

// variable is one ABIDE_… variable and its setting.
type variable struct {
	name string
	set  func(l Loader, c *Config, value string) error
}

// variables lists the settings of the environment: everything of the file that is
// one value or a plain list.
func variables() []variable {
	return []variable{
		{"ABIDE_ADDR", func(_ Loader, c *Config, v string) error { c.Addr = v; return checkAddr(v) }},
		{"ABIDE_DATA", func(l Loader, c *Config, v string) (err error) { c.Data, err = l.absolute(v, l.Dir); return err }},
		{"ABIDE_DURABILITY", func(_ Loader, c *Config, v string) error { c.Durability = v; return checkDurability(v) }},
		{"ABIDE_LOG_FILE_MIB", func(_ Loader, c *Config, v string) error { return setInt(&c.LogFileMiB, v) }},
		{"ABIDE_KEEP_LOG_MIB", func(_ Loader, c *Config, v string) error { return setSize(&c.KeepLogMiB, v) }},
		{"ABIDE_OPEN", func(_ Loader, c *Config, v string) error { return setBool(&c.Open, v) }},
		{"ABIDE_DEMO_AGENT", func(_ Loader, c *Config, v string) error { return setBool(&c.DemoAgent, v) }},
		{"ABIDE_PUBLIC_NAMES", setPublicNames},
		{"ABIDE_WORKSPACES", setWorkspaces},
		{"ABIDE_PERMISSIONS_UNATTENDED", func(_ Loader, c *Config, v string) error {
			c.Permissions.Unattended = v
			return checkUnattended(v)
		}},
		{"ABIDE_PERMISSIONS_WAIT_LIMIT", func(_ Loader, c *Config, v string) error { return setDuration(&c.Permissions.WaitLimit, v) }},
		{"ABIDE_QUEUE_ENABLED", func(_ Loader, c *Config, v string) error { return setBool(&c.Queue.Enabled, v) }},
		{"ABIDE_QUEUE_DELAY", func(_ Loader, c *Config, v string) error { return setDuration(&c.Queue.Delay, v) }},
		{"ABIDE_QUEUE_MAX_SIZE", func(_ Loader, c *Config, v string) error { return setInt(&c.Queue.MaxSize, v) }},
		{"ABIDE_QUEUE_AFTER_INTERRUPTION", func(_ Loader, c *Config, v string) error { return setAfterInterruption(&c.Queue, v) }},
		{"ABIDE_QUEUE_TITLES", func(_ Loader, c *Config, v string) error { return setBool(&c.Queue.Titles, v) }},
		{"ABIDE_RESUME_STALE_AFTER", func(_ Loader, c *Config, v string) error { return setStaleAfter(&c.Resume.StaleAfter, v) }},
		{"ABIDE_RESUME_AUTO", func(_ Loader, c *Config, v string) error { return setBool(&c.Resume.Auto, v) }},
		{"ABIDE_RESUME_SEGMENTED_FALLBACK", func(_ Loader, c *Config, v string) error { return setBool(&c.Resume.SegmentedFallback, v) }},
		{"ABIDE_RESUME_SEGMENT_TOKENS", func(_ Loader, c *Config, v string) error { return setSegmentTokensText(&c.Resume.SegmentTokens, v) }},
		{"ABIDE_LIMITS_SESSIONS", func(_ Loader, c *Config, v string) error { return setInt(&c.Limits.Sessions, v) }},
		{"ABIDE_LIMITS_AGENTS", func(_ Loader, c *Config, v string) error { return setInt(&c.Limits.Agents, v) }},
		{"ABIDE_LIMITS_CLIENTS", func(_ Loader, c *Config, v string) error { return setInt(&c.Limits.Clients, v) }},
		{"ABIDE_LIMITS_SESSION_ATTACHMENTS_MIB", func(_ Loader, c *Config, v string) error { return setInt(&c.Limits.SessionAttachmentsMiB, v) }},
		{"ABIDE_LIMITS_DAILY_ATTACHMENTS_MIB", func(_ Loader, c *Config, v string) error { return setInt(&c.Limits.DailyAttachmentsMiB, v) }},
		{"ABIDE_OUTGOING_ALLOW", setOutgoingAllow},
	}
}

// applyEnv treats an empty variable as one that is not set, as shells make it
// hard to tell them apart.
func (l Loader) applyEnv(c *Config) error {
	for _, v := range variables() {
		value, ok := lookup(l.Env, v.name)
		if !ok || value == "" {
			continue
		}
		if err := v.set(l, c, value); err != nil {
			return &Error{File: v.name, Reason: err.Error(), cause: err}
		}
	}
	return nil
}

func setPublicNames(_ Loader, c *Config, v string) error {
	c.PublicNames = nil
	for _, name := range strings.Split(v, ",") {
		name, err := checkPublicName(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		c.PublicNames = append(c.PublicNames, name)
	}
	return nil
}

func setOutgoingAllow(_ Loader, c *Config, v string) (err error) {
	texts := strings.Split(v, ",")
	for i, text := range texts {
		texts[i] = strings.TrimSpace(text)
	}
	c.Outgoing.Allow, err = outgoing.ParseAllow(texts)
	return err
}

func setWorkspaces(l Loader, c *Config, v string) error {
	c.Workspaces = nil
	for _, dir := range filepath.SplitList(v) {
		path, err := l.absolute(dir, l.Dir)
		if err != nil {
			return err
		}
		c.Workspaces = append(c.Workspaces, path)
	}
	return nil
}

func setBool(to *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	*to = b
	return nil
}

// setSize is setInt where 0 means no bound.
func setSize(to *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%q is not a number", v)
	}
	*to = n
	return checkSize(n)
}

func setInt(to *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%q is not a number", v)
	}
	*to = n
	return checkCount(n)
}
