package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sample is one saturated run.
type sample struct {
	rate    float64       // deliveries a second
	cpu     time.Duration // of the server, per delivery
	mallocs float64       // of the server, per delivery
}

// saturate publishes m events as fast as they go to n clients.
func (b *bench) saturate(ctx context.Context, role string, n, m int) (s sample, err error) {
	server, err := b.serve(ctx, role)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	last := server.Last + int64(m)
	c, err := gather(server, n, last, false)
	if err != nil {
		return s, err
	}
	defer c.leave()
	settle()
	before, err := server.tell(order{Usage: true})
	if err != nil {
		return s, err
	}
	began := time.Now()
	if _, err := server.tell(order{Publish: m}); err != nil {
		return s, err
	}
	if err := c.done(); err != nil {
		return s, err
	}
	took := time.Since(began)
	after, err := server.tell(order{Usage: true})
	if err != nil {
		return s, err
	}
	deliveries := float64(n) * float64(m)
	return sample{
		rate:    deliveries / took.Seconds(),
		cpu:     time.Duration(float64(after.CPU-before.CPU) / deliveries),
		mallocs: float64(after.Mallocs-before.Mallocs) / deliveries,
	}, nil
}

// fanOut is a saturated run to so many clients, and its goals.
type fanOut struct {
	clients, events int
	rounds          int
	against         float64 // centrifuge's rate
	cpu             float64 // of centrifuge's; 0: no goal
	floor           float64 // of the floor's rate; 0: no goal
}

// measure holds fan-out, with every event written to disk, against a library
// that writes nothing and against the least a server can do.
func (f fanOut) measure(ctx context.Context, b *bench) error {
	roles := []string{"abide", "centrifuge", "floor"}
	samples := map[string][]sample{}
	for round := range b.scaled(f.rounds, 2) {
		for i := range roles {
			role := roles[(round+i)%len(roles)]
			s, err := b.saturate(ctx, role, f.clients, f.events)
			if err != nil {
				return fmt.Errorf("%s, %d clients: %w", role, f.clients, err)
			}
			samples[role] = append(samples[role], s)
		}
	}
	rate := func(s sample) float64 { return s.rate }
	cpu := func(s sample) time.Duration { return s.cpu }
	mallocs := func(s sample) float64 { return s.mallocs }
	ours, theirs, least := samples["abide"], samples["centrifuge"], samples["floor"]

	clients := fmt.Sprintf("%s clients", count(f.clients))
	if f.clients == 1 {
		clients = "1 client"
	}
	b.atLeast("delivered to "+clients+" incl. the disk write, against centrifuge", f.against, ratio(each(ours, rate), each(theirs, rate)))
	if f.cpu > 0 {
		b.atMost("server CPU per delivery, "+clients+", against centrifuge", f.cpu, ratio(each(ours, cpu), each(theirs, cpu)))
	}
	if f.floor > 0 {
		b.atLeast("delivered to "+clients+", against the coalescing floor", f.floor, ratio(each(ours, rate), each(least, rate)))
	} else {
		b.told("delivered to "+clients+", against the coalescing floor", ratio(each(ours, rate), each(least, rate)))
	}
	for _, role := range roles {
		b.detail("%s to %s: %.3g M deliveries/s, %s of the server each", role, clients,
			median(each(samples[role], rate))/1e6, median(each(samples[role], cpu)))
	}
	// One for each event is the publisher's, for the event's own bytes.
	b.atMost("allocations per delivery, "+clients+", beside the event's own", 0.1,
		max(0, median(each(ours, mallocs))-1/float64(f.clients)))
	return nil
}

func each[T any, V any](list []T, get func(T) V) []V {
	out := make([]V, 0, len(list))
	for _, v := range list {
		out = append(out, get(v))
	}
	return out
}

// measureCollected weighs clients that do nothing but watch, with all garbage
// collected.
func measureCollected(ctx context.Context, b *bench) error {
	const goal = 16 << 10
	clients := b.scaled(1000, 2)
	var all []weight
	for range 2 {
		w, err := b.weigh(ctx, clients)
		if err != nil {
			return err
		}
		all = append(all, w)
	}
	figure := "memory of an idle client, all garbage collected"
	b.weighed(figure, goal, median(each(all, func(w weight) int64 { return w.resident })))
	b.detail("%s: objects %d, stacks %d bytes", figure,
		median(each(all, func(w weight) int64 { return w.heap })), median(each(all, func(w weight) int64 { return w.stacks })))
	return nil
}

// weight is the memory of one client, in bytes.
type weight struct{ resident, heap, stacks int64 }

// quietly is how long clients and sessions have been idle when they are weighed.
const quietly = 5 * time.Second

func (b *bench) weigh(ctx context.Context, clients int) (w weight, err error) {
	server, err := b.serve(ctx, "abide")
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	// Lasting allocations that the first clients cause are not counted for them.
	warm, err := gather(server, 20, server.Last+1, false)
	if err != nil {
		return w, err
	}
	defer warm.leave()
	settle()
	before, err := server.tell(order{Usage: true, Collect: true})
	if err != nil {
		return w, err
	}
	c, err := gather(server, clients, server.Last+1, false)
	if err != nil {
		return w, err
	}
	defer c.leave()
	time.Sleep(quietly)
	after, err := server.tell(order{Usage: true, Collect: true})
	n := int64(clients)
	return weight{(after.Resident - before.Resident) / n, (after.Heap - before.Heap) / n, (after.Stacks - before.Stacks) / n}, err
}

// measureWake takes the time from the upgrade's request to the last byte of 500
// events that a client missed.
func measureWake(ctx context.Context, b *bench) (err error) {
	server, err := b.serve(ctx, "abide")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	var took []time.Duration
	for range 20 * b.rounds() {
		began := time.Now()
		r, err := connect(server.greeting, server.Last-500, false)
		if err != nil {
			return err
		}
		err = r.read(server.Last)
		took = append(took, time.Since(began))
		r.conn.Close()
		if err != nil {
			return err
		}
	}
	b.within("wake with 500 missed events, upgrade to last byte", 5*time.Millisecond, median(took))
	b.detail("the same, p99: %s", percentile(took, 99))
	return nil
}
