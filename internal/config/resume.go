package config

import (
	"errors"
	"fmt"
	"time"
)

// Resume is how turns that were cut off are resumed.
type Resume struct {
	// StaleAfter is the age from which a resume has to be confirmed.
	StaleAfter time.Duration
	// Auto lets the hub resume by itself what changed in nothing.
	Auto bool
}

// AgentResume is what one agent has otherwise, and what only an agent has.
type AgentResume struct {
	StaleAfter time.Duration // 0 is as for all
	Auto       *bool         // nil is as for all
	// Delegating are the titles of its tool calls that are sub-agents.
	Delegating []string
}

// Of is what counts for an agent.
func (r Resume) Of(a AgentResume) Resume {
	if a.StaleAfter > 0 {
		r.StaleAfter = a.StaleAfter
	}
	if a.Auto != nil {
		r.Auto = *a.Auto
	}
	return r
}

type fileResume struct {
	StaleAfter *string `yaml:"stale_after"`
	Auto       *bool   `yaml:"auto"`
}

type fileAgentResume struct {
	StaleAfter *string  `yaml:"stale_after"`
	Auto       *bool    `yaml:"auto"`
	Delegating []string `yaml:"delegating"`
}

// applyResume reads how turns that were cut off are resumed.
func (r reader) applyResume(c *Config, f file) error {
	if f.Resume.StaleAfter != nil {
		if err := setStaleAfter(&c.Resume.StaleAfter, *f.Resume.StaleAfter); err != nil {
			return r.wrong("$.resume.stale_after", "%v", err)
		}
	}
	if f.Resume.Auto != nil {
		c.Resume.Auto = *f.Resume.Auto
	}
	return nil
}

// of reads what one agent has of its own. With an error comes the field it is
// about.
func (f fileAgentResume) of() (a AgentResume, field string, err error) {
	a = AgentResume{Auto: f.Auto, Delegating: f.Delegating}
	if f.StaleAfter != nil {
		if err := setStaleAfter(&a.StaleAfter, *f.StaleAfter); err != nil {
			return a, "stale_after", err
		}
	}
	for _, title := range f.Delegating {
		if title == "" {
			return a, "delegating", errors.New("a title is empty")
		}
	}
	return a, "", nil
}

func setStaleAfter(to *time.Duration, s string) error {
	if err := setDuration(to, s); err != nil {
		return err
	}
	if *to < time.Second {
		return fmt.Errorf("%q is less than a second", s)
	}
	return nil
}
