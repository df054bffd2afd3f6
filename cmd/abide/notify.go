package main

import (
	"github.com/abidehub/abide/internal/config"
	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/internal/outgoing"
)

// guard is the guard of the hub's own requests.
func guard(c config.Config) *outgoing.Guard { return &outgoing.Guard{Allow: c.Outgoing.Allow} }

// channels are the channels of a configuration as the notifier has them.
func channels(c config.Config) []notify.Channel {
	var list []notify.Channel
	for _, from := range c.Channels {
		choice := notify.Choice{}
		for _, kind := range from.Events {
			choice.Events = append(choice.Events, notify.Kind(kind))
		}
		if from.QuietFrom != "" {
			choice.Quiet = &notify.Quiet{From: from.QuietFrom, To: from.QuietTo}
		}
		list = append(list, notify.Channel{Name: from.Name, Type: from.Type, URL: from.URL, Secret: from.Secret, Answers: from.Answers, Choice: choice})
	}
	return list
}

// publicBase is the address of the app for links that others open; empty where the hub has
// no name but this machine's.
func publicBase(c config.Config) string {
	if len(c.PublicNames) == 0 {
		return ""
	}
	return "https://" + c.PublicNames[0]
}
