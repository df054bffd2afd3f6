package blackbox_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/abidehub/abide/server/wire"
	"github.com/abidehub/abide/session/event"
	"github.com/coder/websocket"
)

// hostileClient has a valid credential and sends frames that it must not send.
type hostileClient struct {
	addr, token string
	session     wire.SessionInfo
}

// harass opens one connection and misbehaves on it. The hub may answer in any way
// that harms no other client.
func (s hostileClient) harass(ctx context.Context, random *rand.Rand) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Second)
	defer cancel()
	visits := []struct {
		kind string
		pay  func(context.Context, *rand.Rand) error
	}{
		{"client that never reads", s.neverRead}, {"client that talks nonsense", s.talkNonsense},
		{"huge frame", s.shout}, {"ping flood", s.ping}, {"broken HTTP", s.mumble}, {"half a request", s.stammer},
	}
	visit := visits[random.IntN(len(visits))]
	_ = visit.pay(ctx, random) // the hub may be down, and may always hang up
	return visit.kind, nil
}

func (s hostileClient) dial(ctx context.Context) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, "ws://"+s.addr+"/api/ws", &websocket.DialOptions{
		HTTPHeader: map[string][]string{"Authorization": {"Bearer " + s.token}}, Subprotocols: []string{wire.Subprotocol},
	})
	return conn, err
}

// neverRead follows the session from its beginning and does not read the events.
func (s hostileClient) neverRead(ctx context.Context, random *rand.Rand) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	observe := fmt.Sprintf(`{"type":"observe","session_id":%q,"epoch":%q,"after_seq":0}`, s.session.SessionID, s.session.Epoch)
	if err := conn.Write(ctx, websocket.MessageText, []byte(observe)); err != nil {
		return err
	}
	rest(ctx, time.Duration(random.Int64N(int64(12*time.Second))))
	return nil
}

// talkNonsense sends meaningless messages to an existing session.
func (s hostileClient) talkNonsense(ctx context.Context, random *rand.Rand) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	id := s.session.SessionID
	frames := []string{
		"", "null", "[]", "{", `{"type":"dance"}`, strings.Repeat("[", 5000),
		fmt.Sprintf(`{"type":"prompt","session_id":%q,"prompt_id":"","text":""}`, id),
		fmt.Sprintf(`{"type":"observe","session_id":%q,"epoch":"0000000000000000","after_seq":%d}`, id, event.Seq(random.Int64())),
		fmt.Sprintf(`{"type":"load_events","session_id":%q,"after_seq":-1,"limit":1000000000}`, id),
		fmt.Sprintf(`{"type":"permission_answer","session_id":%q,"permission_id":"never-was","option_id":"x"}`, id),
		fmt.Sprintf(`{"type":"queue_remove","session_id":%q,"prompt_id":"never-was"}`, id),
		fmt.Sprintf(`{"type":"ack","session_id":%q,"seq":9007199254740993}`, id),
		fmt.Sprintf(`{"type":"observe","session_id":%q}`, "../../../etc/passwd"),
	}
	for range 40 {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frames[random.IntN(len(frames))])); err != nil {
			return err
		}
	}
	return nil
}

func (s hostileClient) shout(ctx context.Context, _ *rand.Rand) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	return conn.Write(ctx, websocket.MessageBinary, make([]byte, 3<<20))
}

func (s hostileClient) ping(ctx context.Context, _ *rand.Rand) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	for range 2000 {
		if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"ping","nonce":"x"}`)); err != nil {
			return err
		}
	}
	return nil
}

func (s hostileClient) mumble(ctx context.Context, random *rand.Rand) error {
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	return s.raw(ctx, string(noise)+"\r\n\r\n")
}

// stammer begins a request and never completes it.
func (s hostileClient) stammer(ctx context.Context, _ *rand.Rand) error {
	return s.raw(ctx, "POST /api/sessions HTTP/1.1\r\nHost: "+s.addr+"\r\nAuthorization: Bearer "+s.token+"\r\nContent-Length: 1000\r\n\r\n{")
}

func (s hostileClient) raw(ctx context.Context, text string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}
