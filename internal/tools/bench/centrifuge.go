package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/centrifugal/centrifuge"
)

// rival is the centrifuge library as its documentation sets it up: one node,
// one channel with history, JSON. Its limits are raised so that it never drops
// a client that is behind: abide does not either.
type rival struct {
	node *centrifuge.Node
	addr string
	sent int64
	pipe *pipe // where an agent feeds it
}

const channel = "session"

func newCentrifuge(_ context.Context, _ string) (publisher, error) {
	node, err := centrifuge.New(centrifuge.Config{LogLevel: centrifuge.LogLevelNone, ClientQueueMaxSize: 1 << 30})
	if err != nil {
		return nil, err
	}
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: "bench"}}, nil
	})
	node.OnConnect(func(c *centrifuge.Client) {
		c.OnSubscribe(func(_ centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
			reply(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{EnableRecovery: true}}, nil)
		})
	})
	if err := node.Run(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	handler := centrifuge.NewWebsocketHandler(node, centrifuge.WebsocketConfig{
		WriteTimeout:   time.Minute,
		PingPongConfig: centrifuge.PingPongConfig{PingInterval: -1},
		CheckOrigin:    func(*http.Request) bool { return true },
	})
	go func() { // for the life of the process
		if err := http.Serve(listener, handler); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return &rival{node: node, addr: listener.Addr().String()}, nil
}

func (r *rival) hello() greeting {
	return greeting{
		Addr: r.addr, Request: "GET /" + upgrade(r.addr) + "\r\n",
		Subscribe: []string{`{"id":1,"connect":{}}`, `{"id":2,"subscribe":{"channel":"` + channel + `"}}`},
	}
}

// publish sends the event as it goes over abide's wire: its envelope around
// the data.
func (r *rival) publish(_ context.Context, data []byte) error {
	r.sent++
	_, err := r.node.Publish(channel, envelope(r.sent, data), centrifuge.WithHistory(1000, time.Minute))
	return err
}

func (r *rival) last() int64 { return r.sent }

// envelope is an event as abide sends it.
func envelope(seq int64, data []byte) []byte {
	b := append([]byte(`{"seq":`), strconv.FormatInt(seq, 10)...)
	b = append(b, `,"time":"2026-02-21T14:03:07.123456Z","type":"agent_message","turn":1,"data":`...)
	return append(append(b, data...), '}')
}
