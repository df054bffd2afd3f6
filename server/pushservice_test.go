package server_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/abidehub/abide/internal/notify"
	"github.com/abidehub/abide/server/wire"
)

// browser is a browser with push keys and a push service on loopback.
type browser struct {
	t       *testing.T
	as      http.Header // of its page
	key     *ecdh.PrivateKey
	auth    []byte
	service *httptest.Server
	id      string
	got     chan notify.Payload

	mu    sync.Mutex
	reply func(attempt int, w http.ResponseWriter, r *http.Request) // nil answers 201
	tries int
	hold  chan struct{} // the service answers once it is closed; nil: at once
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	require.NoError(t, err)
	b := &browser{t: t, key: key, auth: make([]byte, 16), got: make(chan notify.Payload, 100)}
	rand.Read(b.auth)
	b.service = httptest.NewServer(http.HandlerFunc(b.take))
	t.Cleanup(b.service.Close)
	return b
}

// browserSubscription is the body of a browser's subscription.
func browserSubscription() map[string]any {
	key, _ := ecdh.P256().GenerateKey(rand.Reader)
	return subscriptionOf("https://push.example/x", key, make([]byte, 16))
}

func subscriptionOf(endpoint string, key *ecdh.PrivateKey, secret []byte) map[string]any {
	return map[string]any{"endpoint": endpoint, "keys": map[string]string{
		"p256dh": base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), "auth": base64.RawURLEncoding.EncodeToString(secret),
	}}
}

// browser pairs a device whose browser receives pushes.
func (h *hub) browser(name string) *browser {
	h.t.Helper()
	b := newBrowser(h.t)
	b.as = h.device(name)
	b.subscribe(h)
	return b
}

func (b *browser) subscribe(h *hub) {
	b.t.Helper()
	res := h.do("POST", "/api/push/subscriptions", subscriptionOf(b.service.URL, b.key, b.auth), b.as)
	require.Equal(b.t, 201, res.status, res.body)
	var made struct{ ID string }
	require.NoError(b.t, json.Unmarshal([]byte(res.body), &made))
	b.id = made.ID
}

func (b *browser) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the hub cancelled the request
	}
	b.mu.Lock()
	b.tries++
	tries, reply, hold := b.tries, b.reply, b.hold
	b.mu.Unlock()
	if r.Header.Get("Content-Encoding") != "aes128gcm" || r.Header.Get("Authorization") == "" || r.Header.Get("TTL") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if reply != nil {
		reply(tries, w, r)
		return
	}
	b.got <- b.decrypt(body)
	if hold != nil {
		<-hold
	}
	w.WriteHeader(http.StatusCreated)
}

// decrypt decrypts a push message (RFC 8291).
func (b *browser) decrypt(body []byte) notify.Payload {
	salt, sender := body[:16], body[21:21+int(body[20])]
	public, err := ecdh.P256().NewPublicKey(sender)
	require.NoError(b.t, err)
	shared, err := b.key.ECDH(public)
	require.NoError(b.t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, n)
		require.NoError(b.t, err)
		return out
	}
	ikm := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(sender), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	require.NoError(b.t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(b.t, err)
	plain, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), body[21+len(sender):], nil)
	require.NoError(b.t, err)
	for plain[len(plain)-1] == 0 {
		plain = plain[:len(plain)-1]
	}
	var p notify.Payload
	require.NoError(b.t, json.Unmarshal(plain[:len(plain)-1], &p))
	return p
}

// next returns the next push.
func (b *browser) next() notify.Payload {
	b.t.Helper()
	select {
	case p := <-b.got:
		return p
	case <-time.After(patience):
		b.t.Fatal("no push came")
		return notify.Payload{}
	}
}

// answers sets the response of the push service.
func (b *browser) answers(reply func(attempt int, w http.ResponseWriter, r *http.Request)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply = reply
}

func (b *browser) attempts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tries
}

func (h *hub) counts() wire.NotifyCounts {
	h.t.Helper()
	var health struct{ Notifications wire.NotifyCounts }
	require.NoError(h.t, json.Unmarshal([]byte(h.api("GET", "/api/health", nil).body), &health))
	return health.Notifications
}

// answer answers a request with a notification's token, like a service worker.
func (h *hub) answer(token, option string) response {
	h.t.Helper()
	return h.do("POST", "/api/answer", map[string]string{"token": token, "option_id": option}, http.Header{"Origin": {h.origin()}})
}
