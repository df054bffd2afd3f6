package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/abidehub/abide/internal/auth"
	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/server/wire"
)

// The types of channels.
const (
	Ntfy    = "ntfy"
	Webhook = "webhook"
)

// Channel is another way than push, from the configuration.
type Channel struct {
	Name string
	// Type is Ntfy or Webhook.
	Type string
	// URL is of the topic, or of the receiver.
	URL string
	// Secret is the token of a protected topic, or the key that signs for a
	// receiver.
	Secret string
	// Answers puts the answers of a question into the messages of a topic, by a token that
	// anyone who reads the topic can use.
	Answers bool
	Choice  Choice
}

// channelSet has the channels of the configuration.
type channelSet struct {
	list []Channel
	base string
}

// ChannelList lists the channels with their latest outcomes.
func (n *Notifier) ChannelList() []wire.Channel {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []wire.Channel{}
	for _, t := range n.targets() {
		if t.push == nil {
			host := ""
			if u, err := url.Parse(t.channel.URL); err == nil {
				host = u.Host
			}
			list = append(list, wire.Channel{Name: t.name, Type: t.channel.Type, Host: host, NotifyChoice: shown(t.choice), Outcomes: n.saved.outcomesOf(t.name)})
		}
	}
	return list
}

// ChooseChannel sets the events of a channel, which override those of the
// configuration.
func (n *Notifier) ChooseChannel(name string, choice Choice) error {
	if err := checkChoice(choice); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.target(channelID(name)); !ok {
		return fmt.Errorf("%w: channel %q", ErrNotFound, name)
	}
	before, had := n.saved.Channels[name]
	n.saved.Channels[name] = choice
	err := n.save()
	if err != nil && had {
		n.saved.Channels[name] = before
	} else if err != nil {
		delete(n.saved.Channels, name)
	}
	return err
}

// TestChannel sends a message to a channel, also in quiet hours.
func (n *Notifier) TestChannel(grant auth.Grant, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.target(channelID(name)); !ok {
		return fmt.Errorf("%w: channel %q", ErrNotFound, name)
	}
	if err := n.tests.take(grant); err != nil {
		return err
	}
	n.test(channelID(name))
	return nil
}

// sendWebhook posts the payload, signed.
func sendWebhook(ctx context.Context, guard *outgoing.Guard, c Channel, p Payload) (outgoing.Answer, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return outgoing.Answer{}, fmt.Errorf("encode a message: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"abide"}}
	header.Set("X-Abide-Signature", Sign(c.Secret, time.Now(), body))
	return guard.Send(ctx, http.MethodPost, c.URL, header, body)
}

// Sign returns the header X-Abide-Signature: "t=SECONDS,v1=HEX", the HMAC-SHA256 of
// SECONDS, "." and the body. A receiver should refuse an old time, and an id that
// it has seen.
func Sign(secret string, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// mostActions is how many buttons ntfy shows with a message.
const mostActions = 3

// actions are the buttons of a message that answer its question at the hub with the address
// base. ntfy sends their requests from the phone, as a page of the hub would.
func actions(base string, a *Answer) (list []map[string]any, err error) {
	for _, o := range a.Options[:min(len(a.Options), mostActions)] {
		body, err := json.Marshal(wire.TokenAnswer{Token: a.Token, OptionID: o.OptionID})
		if err != nil {
			return nil, fmt.Errorf("encode an answer: %w", err)
		}
		list = append(list, map[string]any{
			"action": "http", "label": o.Label, "url": base + "/api/answer", "method": http.MethodPost, "body": string(body), "clear": true,
			"headers": map[string]string{"Content-Type": "application/json", "Origin": base},
		})
	}
	return list, nil
}

// sendNtfy publishes to a topic. base is the hub's address, and link that of the session.
func sendNtfy(ctx context.Context, guard *outgoing.Guard, c Channel, base, link string, p Payload) (outgoing.Answer, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return outgoing.Answer{}, fmt.Errorf("%w: the address of the topic", errUnusable)
	}
	path, topic := "", strings.Trim(u.Path, "/")
	if i := strings.LastIndex(topic, "/"); i >= 0 {
		path, topic = topic[:i], topic[i+1:]
	}
	message := map[string]any{"topic": topic, "title": p.Title, "message": p.Body}
	if link != "" {
		message["click"] = link
	}
	if waits(p.Kind) {
		message["priority"] = 4
	}
	if p.Answer != nil {
		if message["actions"], err = actions(base, p.Answer); err != nil {
			return outgoing.Answer{}, err
		}
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(message); err != nil {
		return outgoing.Answer{}, fmt.Errorf("encode a message: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"abide"}}
	if c.Secret != "" {
		header.Set("Authorization", "Bearer "+c.Secret)
	}
	u.Path, u.RawQuery = "/"+path, ""
	return guard.Send(ctx, http.MethodPost, u.String(), header, body.Bytes())
}
