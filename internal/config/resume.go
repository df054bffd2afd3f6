package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Resume is how turns that were cut off are resumed.
type Resume struct {
	// StaleAfter is the age from which a resume has to be confirmed.
	StaleAfter time.Duration
	// Auto lets the hub resume a turn by itself when nothing changed since.
	Auto bool
	// SegmentedFallback tells an agent without memory the whole session.
	SegmentedFallback bool
	// SegmentTokens is about how many tokens it is told at once.
	SegmentTokens int
}

// AgentResume has one agent's own values, and the settings that only an agent has.
type AgentResume struct {
	StaleAfter time.Duration // 0 is as for all
	Auto       *bool         // nil is as for all
	// SegmentedFallback is as for all where it is nil, SegmentTokens where it is 0.
	SegmentedFallback *bool
	SegmentTokens     int
	// Delegating are the titles of its tool calls that are sub-agents.
	Delegating []string
}

// Of returns the settings in force for an agent.
func (r Resume) Of(a AgentResume) Resume {
	if a.StaleAfter > 0 {
		r.StaleAfter = a.StaleAfter
	}
	if a.Auto != nil {
		r.Auto = *a.Auto
	}
	if a.SegmentedFallback != nil {
		r.SegmentedFallback = *a.SegmentedFallback
	}
	if a.SegmentTokens > 0 {
		r.SegmentTokens = a.SegmentTokens
	}
	return r
}

type fileResume struct {
	StaleAfter        *string `yaml:"stale_after"`
	Auto              *bool   `yaml:"auto"`
	SegmentedFallback *bool   `yaml:"segmented_fallback"`
	SegmentTokens     *int    `yaml:"segment_tokens"`
}

type fileAgentResume struct {
	StaleAfter        *string  `yaml:"stale_after"`
	Auto              *bool    `yaml:"auto"`
	SegmentedFallback *bool    `yaml:"segmented_fallback"`
	SegmentTokens     *int     `yaml:"segment_tokens"`
	Delegating        []string `yaml:"delegating"`
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
	if f.Resume.SegmentedFallback != nil {
		c.Resume.SegmentedFallback = *f.Resume.SegmentedFallback
	}
	if f.Resume.SegmentTokens != nil {
		if err := setSegmentTokens(&c.Resume.SegmentTokens, *f.Resume.SegmentTokens); err != nil {
			return r.wrong("$.resume.segment_tokens", "%v", err)
		}
	}
	return nil
}

// of reads one agent's own values. With an error comes the field it is about.
func (f fileAgentResume) of() (a AgentResume, field string, err error) {
	a = AgentResume{Auto: f.Auto, SegmentedFallback: f.SegmentedFallback, Delegating: f.Delegating}
	if f.SegmentTokens != nil {
		if err := setSegmentTokens(&a.SegmentTokens, *f.SegmentTokens); err != nil {
			return a, "segment_tokens", err
		}
	}
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

// setSegmentTokens accepts sizes that fit a prompt and are worth a turn.
func setSegmentTokens(to *int, n int) error {
	if n < 200 || n > 100_000 {
		return fmt.Errorf("%d is not between 200 and 100000", n)
	}
	*to = n
	return nil
}

func setSegmentTokensText(to *int, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is not a number", s)
	}
	return setSegmentTokens(to, n)
}
