package notify

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	webpush "github.com/SherClockHolmes/webpush-go"

	"github.com/abidehub/abide/internal/outgoing"
	"github.com/abidehub/abide/server/wire"
)

// errUnusable means that sending to a target can never succeed.
var errUnusable = errors.New("the subscription cannot be used")

// contact is the address for a push service's questions about the hub's pushes.
const contact = "https://github.com/abidehub/abide"

// pushLife is how many seconds a push service keeps a message for a device that is away.
const pushLife = 24 * 60 * 60

// guarded lets webpush send through the guard.
type guarded struct {
	guard  *outgoing.Guard
	answer outgoing.Answer
}

// Do implements webpush.HTTPClient.
func (g *guarded) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, outgoing.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	g.answer, err = g.guard.Send(r.Context(), r.Method, r.URL.String(), r.Header, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: g.answer.Status, Header: g.answer.Header, Body: io.NopCloser(bytes.NewReader(g.answer.Body)), Request: r}, nil
}

// sendPush encrypts a message for a browser and hands it to the browser's push service.
func sendPush(ctx context.Context, guard *outgoing.Guard, s subscription, public, private string, p Payload, urgent bool) (outgoing.Answer, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return outgoing.Answer{}, fmt.Errorf("encode a push: %w", err)
	}
	urgency := webpush.UrgencyNormal
	if urgent {
		urgency = webpush.UrgencyHigh
	}
	client := &guarded{guard: guard}
	_, err = webpush.SendNotificationWithContext(ctx, data,
		&webpush.Subscription{Endpoint: s.Endpoint, Keys: webpush.Keys{P256dh: s.P256dh, Auth: s.Auth}},
		&webpush.Options{
			HTTPClient: client, Subscriber: contact, TTL: pushLife, Urgency: urgency,
			Topic: topic(p.Tag), VAPIDPublicKey: public, VAPIDPrivateKey: private,
		})
	if errors.Is(err, webpush.ErrMaxPadExceeded) {
		return outgoing.Answer{}, fmt.Errorf("%w: %w", errUnusable, err)
	}
	return client.answer, err
}

// topic returns the topic by which a push service keeps only the newest message of
// a tag: at most 32 characters of base64url.
func topic(tag string) string {
	return strings.TrimPrefix(tag, "abide-")[:min(32, len(strings.TrimPrefix(tag, "abide-")))]
}

// checkPush refuses an invalid subscription.
func checkPush(in wire.NewSubscription) error {
	u, err := url.Parse(in.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(in.Endpoint) > 2000 {
		return fmt.Errorf("%w: endpoint is not the address of a push service", ErrInvalid)
	}
	key, err := decode(in.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if secret, secretErr := decode(in.Keys.Auth); err != nil || secretErr != nil || len(secret) != 16 {
		return fmt.Errorf("%w: keys are p256dh, a point of P-256, and auth, 16 bytes, both in base64url", ErrInvalid)
	}
	return nil
}

func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
}
