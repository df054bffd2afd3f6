package main

import (
	"context"
	"errors"
	"fmt"
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
	last   int64
	lead   int64 // events of a turn before the agent's first
	rounds []fed
}

// newFeeding starts a server, its agent and n clients. Close it in any case.
func (b *bench) newFeeding(ctx context.Context, role string, n int) (f *feeding, err error) {
	server, err := b.serve(ctx, role)
	if err != nil {
		return nil, err
	}
	f = &feeding{server: server, crowd: &crowd{server: server}}
	if role == "abide" {
		f.lead = turnLead
	}
	// The first turn starts the agent, and makes room that is kept.
	u, err := server.tell(order{Feed: 1000})
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
	after, err := f.server.tell(order{Feed: n})
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

// fromPipe is a measurement that begins at an agent's process.
type fromPipe struct {
	clients, lines int
	rounds         int
	against        float64 // centrifuge's rate
	cpu            float64 // of centrifuge's; 0: no goal
	raw            float64 // the rate of a write(2) for each line; 0: not compared
}

// measure holds the hub, which writes each event to its log, against a library
// that writes nothing, both fed by the same agent through a pipe.
func (p fromPipe) measure(ctx context.Context, b *bench) (err error) {
	roles := []string{"abide", "centrifuge"}
	if p.raw > 0 {
		roles = append(roles, "write", "unread")
	}
	all := map[string]*feeding{}
	defer func() {
		for _, f := range all {
			err = errors.Join(err, f.close())
		}
	}()
	for _, role := range roles {
		if all[role], err = b.newFeeding(ctx, role, p.clients); err != nil {
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
	rate := func(f fed) float64 { return f.perSecond }
	cpu := func(f fed) time.Duration { return f.cpu }
	rates := func(role string) []float64 { return each(all[role].rounds, rate) }
	what, each1 := "agent's pipe to disk", "event"
	if p.clients > 0 {
		what, each1 = fmt.Sprintf("agent's pipe to %s clients incl. the disk write", count(p.clients)), "delivery"
		if p.clients == 1 {
			what = "agent's pipe to 1 client incl. the disk write"
		}
	}
	b.atLeast(what+", against centrifuge behind the same pipe", p.against, ratio(rates("abide"), rates("centrifuge")))
	if p.raw > 0 {
		b.atLeast(what+", against pipe and write(2) a line", p.raw, ratio(rates("abide"), rates("write")))
	}
	if p.raw > 0 {
		b.told(what+", against centrifuge given lines that it does not read", ratio(rates("abide"), rates("unread")))
		b.told(what+", server CPU per event, against the same", ratio(each(all["abide"].rounds, cpu), each(all["unread"].rounds, cpu)))
	}
	costs := ratio(each(all["abide"].rounds, cpu), each(all["centrifuge"].rounds, cpu))
	if figure := what + ", server CPU per " + each1 + ", against centrifuge"; p.cpu > 0 {
		b.atMost(figure, p.cpu, costs)
	} else {
		b.told(figure, costs)
	}
	for _, role := range roles {
		b.detail("%s, %s: %.4g k/s, %s of the server each", what, role, median(rates(role))/1e3, median(each(all[role].rounds, cpu)))
	}
}
