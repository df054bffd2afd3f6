package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

type fileChannel struct {
	Type   string     `yaml:"type"`
	URL    string     `yaml:"url"`
	Secret string     `yaml:"secret"`
	Events []string   `yaml:"events"`
	Quiet  *fileQuiet `yaml:"quiet"`

	Answers bool `yaml:"answers"`
}

type fileQuiet struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// channelEvents are the events that a channel can choose.
func channelEvents() []string {
	return []string{"permission", "form", "turn_over", "failed", "interrupted", "job"}
}

func (r reader) applyChannels(c *Config, f file) error {
	if f.Channels == nil {
		return nil
	}
	c.Channels = nil
	for _, name := range r.keys("$.channels") {
		channel, err := makeChannel(name, f.Channels[name])
		if err != nil {
			return r.wrong("$.channels."+name, "%v", err)
		}
		c.Channels = append(c.Channels, channel)
	}
	return nil
}

// makeChannel checks a channel. The fault of its url is not described: it may be a
// secret.
func makeChannel(name string, f fileChannel) (Channel, error) {
	u, err := url.Parse(f.URL)
	switch {
	case !agentName.MatchString(name):
		return Channel{}, fmt.Errorf("%q is not a channel name: small letters, digits, - and _", name)
	case f.Type != "ntfy" && f.Type != "webhook":
		return Channel{}, fmt.Errorf("type %q is neither ntfy nor webhook", f.Type)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Channel{}, errors.New("url must begin with http:// or https:// and name a host")
	case f.Type == "ntfy" && strings.Trim(u.Path, "/") == "":
		return Channel{}, errors.New("its url does not end with a topic")
	case f.Type != "ntfy" && f.Answers:
		return Channel{}, errors.New("answers is for channels of type ntfy")
	case f.Type == "webhook" && len(f.Secret) < 16:
		return Channel{}, errors.New("a webhook needs a secret of 16 characters or more to sign its messages")
	}
	for _, e := range f.Events {
		if !slices.Contains(channelEvents(), e) {
			return Channel{}, fmt.Errorf("event %q is not one of %s", e, strings.Join(channelEvents(), ", "))
		}
	}
	channel := Channel{Name: name, Type: f.Type, URL: f.URL, Secret: f.Secret, Answers: f.Answers, Events: f.Events}
	if f.Quiet != nil {
		_, from := time.Parse("15:04", f.Quiet.From)
		_, to := time.Parse("15:04", f.Quiet.To)
		if from != nil || to != nil {
			return Channel{}, errors.New("quiet hours are from and to, as in 22:00 and 07:00")
		}
		channel.QuietFrom, channel.QuietTo = f.Quiet.From, f.Quiet.To
	}
	return channel, nil
}
