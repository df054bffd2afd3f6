// Command faultproxy stands between a browser and the hub in the end-to-end
// tests and does to their connections what networks do to phones.
//
// It prints the address it listens on, then obeys one command a line from
// stdin, answering each with "ok" or "error: …":
//
//	upstream HOST:PORT   where new connections go
//	stall                bytes stop, both ways, silently
//	heal                 bytes flow again, those that waited first
//	strand               the open connections never carry a byte again, silently;
//	                     new ones work
//	mute                 on the open connections what the server says gets
//	                     lost, silently; what clients say arrives
//	rst                  every connection is reset
//	fin                  every connection is closed in order
//	blackhole            new connections are accepted and never answered
//	delay DURATION       every chunk is held that long
//	count                answers "ok N", the connections now open
//
// It ends when stdin does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "faultproxy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, commands io.Reader, answers io.Writer) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	p := &proxy{pairs: map[*pair]struct{}{}, healed: make(chan struct{})}
	close(p.healed)
	p.wg.Go(func() { p.accept(listener) })
	fmt.Fprintln(answers, listener.Addr())
	scanner := bufio.NewScanner(commands)
	for scanner.Scan() {
		answer, err := p.obey(scanner.Text())
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Fprintln(answers, answer)
	}
	listener.Close()
	p.heal()
	p.end((*pair).reset)
	p.wg.Wait()
	return scanner.Err()
}

// proxy joins each accepted connection to one of its own to the upstream.
type proxy struct {
	wg sync.WaitGroup

	mu        sync.Mutex
	upstream  string
	delay     time.Duration
	blackhole bool
	// healed is closed while bytes may flow.
	healed chan struct{}
	pairs  map[*pair]struct{}
}

func (p *proxy) obey(line string) (string, error) {
	verb, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch verb {
	case "upstream":
		p.set(func() { p.upstream = argument })
	case "stall":
		p.set(func() {
			if p.flowing() {
				p.healed = make(chan struct{})
			}
		})
	case "heal":
		p.heal()
	case "strand":
		p.set(func() {
			for pr := range p.pairs {
				pr.strand()
			}
		})
	case "mute":
		p.set(func() {
			for pr := range p.pairs {
				pr.muted.Store(true)
			}
		})
	case "rst":
		p.end((*pair).reset)
	case "fin":
		p.end((*pair).close)
	case "blackhole":
		p.set(func() { p.blackhole = true })
	case "delay":
		delay, err := time.ParseDuration(argument)
		if err != nil {
			return "", err
		}
		p.set(func() { p.delay = delay })
	case "count":
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Sprintf("ok %d", len(p.pairs)), nil
	default:
		return "", fmt.Errorf("unknown command %q", verb)
	}
	return "ok", nil
}

func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *proxy) flowing() bool {
	select {
	case <-p.healed:
		return true
	default:
		return false
	}
}

func (p *proxy) heal() {
	p.set(func() {
		p.blackhole = false
		if !p.flowing() {
			close(p.healed)
		}
	})
}

func (p *proxy) end(how func(*pair)) {
	p.mu.Lock()
	open := make([]*pair, 0, len(p.pairs))
	for pr := range p.pairs {
		open = append(open, pr)
	}
	p.mu.Unlock()
	for _, pr := range open {
		how(pr)
	}
}

func (p *proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	pr := &pair{client: client, stranded: make(chan struct{}), ended: make(chan struct{})}
	p.mu.Lock()
	p.pairs[pr] = struct{}{}
	upstream, blackhole := p.upstream, p.blackhole
	p.mu.Unlock()
	defer p.set(func() { delete(p.pairs, pr) })
	defer pr.close()
	if blackhole {
		<-pr.ended
		return
	}
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		pr.reset()
		return
	}
	pr.join(server)
	var both sync.WaitGroup
	both.Go(func() { defer pr.close(); p.pump(pr, server, client) })
	both.Go(func() { defer pr.close(); p.pump(pr, client, server) })
	both.Wait()
}

// pump copies until either end is gone, holding bytes back while stalled.
func (p *proxy) pump(pr *pair, to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		healed, delay := p.healed, p.delay
		p.mu.Unlock()
		select {
		case <-healed:
		case <-pr.ended:
			return
		}
		select {
		case <-pr.stranded:
			<-pr.ended
			return
		default:
		}
		if to == pr.client && pr.muted.Load() {
			if err != nil {
				return
			}
			continue
		}
		if delay > 0 {
			select {
			case <-time.After(delay):
			case <-pr.ended:
				return
			}
		}
		if _, writeErr := to.Write(buf[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// pair is one connection through the proxy.
type pair struct {
	client   net.Conn
	stranded chan struct{} // closed once
	muted    atomic.Bool
	ended    chan struct{}

	mu     sync.Mutex
	server net.Conn
	over   bool
}

// strand leaves the pair open and dead: the peers keep a connection that looks
// alive until one of them loses patience. The proxy's lock guards it.
func (pr *pair) strand() {
	select {
	case <-pr.stranded:
	default:
		close(pr.stranded)
	}
}

func (pr *pair) join(server net.Conn) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.server = server
	if pr.over {
		server.Close()
	}
}

// reset ends the pair so that both peers see a reset.
func (pr *pair) reset() { pr.finish(true) }

// close ends the pair so that both peers see an orderly end.
func (pr *pair) close() { pr.finish(false) }

func (pr *pair) finish(abruptly bool) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.over {
		return
	}
	pr.over = true
	close(pr.ended)
	for _, conn := range []net.Conn{pr.client, pr.server} {
		if conn == nil {
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok && abruptly {
			// A zero linger turns close into a reset. That it cannot be set
			// only means the connection is gone already.
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}
