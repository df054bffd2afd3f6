package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// fed is one turn of an agent: so many lines through a server.
type fed struct {
	perSecond float64       // lines, or deliveries of them
	cpu       time.Duration // of the server, for each of those
}

// feeding is a server with an agent, and its clients.
type feeding struct {
	server *serving
	crowd  *crowd
	kind   string // of the agent's lines
	last   int64
	lead   int64 // events of a turn before the agent's first
	rounds []fed
}

// newFeeding starts a server, its agent and n clients. Close it in any case.
func (b *bench) newFeeding(ctx context.Context, role, kind string, n int) (f *feeding, err error) {
	server, err := b.serve(ctx, role)
	if err != nil {
		return nil, err
	}
	f = &feeding{kind: kind, server: server, crowd: &crowd{server: server}}
	if slices.Contains([]string{"abide", "deriving", "plain"}, role) {
		f.lead = turnLead
	}
	// The first turn starts the agent, and makes room that is kept.
	u, err := server.tell(order{Kind: kind, Feed: 1000})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.last, server.Last = u.Last, u.Last // where clients begin
	if n > 0 {
		if f.crowd, err = gather(server, n, u.Last, false); err != nil {
			return nil, errors.Join(err, server.close())
		}
	}
	settle()
	return f, nil
}

// round has the agent say n lines, and waits until every client has them.
func (f *feeding) round(n int) error {
	before, err := f.server.tell(order{Usage: true})
	if err != nil {
		return err
	}
	last := f.last + f.lead + int64(n)
	for _, r := range f.crowd.readers {
		f.crowd.wait.Go(func() { r.run(last) })
	}
	began := time.Now()
	after, err := f.server.tell(order{Kind: f.kind, Feed: n})
	if err != nil {
		return err
	}
	if err := f.crowd.done(); err != nil {
		return err
	}
	took := time.Since(began)
	if after, err = f.server.tell(order{Usage: true}); err != nil {
		return err
	}
	f.last = after.Last
	times := max(1, len(f.crowd.readers)) * n
	f.rounds = append(f.rounds, fed{float64(times) / took.Seconds(), (after.CPU - before.CPU) / time.Duration(times)})
	return nil
}

func (f *feeding) close() error {
	f.crowd.leave()
	return f.server.close()
}

// fromPipe is a measurement that begins at an agent's process: from its write to its
// stdout to the file, or to the last byte that a client reads.
type fromPipe struct {
	kind           string // of the agent's lines
	clients, lines int
	rounds         int
	against        float64 // the rate of a fair centrifuge; 0: no goal
	cpu            float64 // of its processor time; 0: no goal
	// reading is the rate of centrifuge in a program that takes each line apart with
	// encoding/json, and raw that of a write(2) for each line; 0: not compared.
	reading, raw float64
}

// measure compares the hub, which writes each event to its log, with a library
// that writes nothing, both fed by the same agent through a pipe.
func (p fromPipe) measure(ctx context.Context, b *bench) (err error) {
	roles := []string{"abide", "fair"}
	if p.reading > 0 {
		roles = append(roles, "centrifuge")
	}
	if p.raw > 0 {
		roles = append(roles, "write")
	}
	all := map[string]*feeding{}
	defer func() {
		for _, f := range all {
			err = errors.Join(err, f.close())
		}
	}()
	for _, role := range roles {
		if all[role], err = b.newFeeding(ctx, role, p.kind, p.clients); err != nil {
			delete(all, role)
			return fmt.Errorf("%s: %w", role, err)
		}
	}
	for round := range b.scaled(p.rounds, 2) {
		for i := range roles {
			role := roles[(round+i)%len(roles)]
			if err := all[role].round(p.lines); err != nil {
				return fmt.Errorf("%s: %w", role, err)
			}
		}
	}
	p.rows(b, roles, all)
	return nil
}

func (p fromPipe) rows(b *bench, roles []string, all map[string]*feeding) {
	rates := func(role string) []float64 { return each(all[role].rounds, func(f fed) float64 { return f.perSecond }) }
	costs := func(role string) []time.Duration {
		return each(all[role].rounds, func(f fed) time.Duration { return f.cpu })
	}
	what, unit := p.kind+", pipe to disk", "event"
	if p.clients > 0 {
		what, unit = fmt.Sprintf("%s, pipe to %s clients", p.kind, count(p.clients)), "delivery"
	}
	if p.clients == 1 {
		what = p.kind + ", pipe to 1 client"
	}
	b.atLeast(what+", events/s against fair centrifuge", p.against, ratio(rates("abide"), rates("fair")))
	b.atMost(what+", server CPU per "+unit+" against fair centrifuge", p.cpu, ratio(costs("abide"), costs("fair")))
	if p.reading > 0 {
		b.atLeast(what+", events/s against reading centrifuge", p.reading, ratio(rates("abide"), rates("centrifuge")))
	}
	if p.raw > 0 {
		b.atLeast(what+", events/s against a write(2) a line", p.raw, ratio(rates("abide"), rates("write")))
	}
	for _, role := range roles {
		b.detail("%s, %s: %.4g k/s, %s of the server each", what, role, median(rates(role))/1e3, median(costs(role)))
	}
}
