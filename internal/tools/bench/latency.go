package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Latency is measured in slices of half a second, which go round servers that stay
// up: other work of the machine lasts longer than a slice, and so meets all of them
// alike.
const (
	pacedClients = 100
	pacedRate    = 200 // events a second: 20,000 deliveries
	sliceEvents  = 100
)

// stalledBacklog is how many events a client that never reads is behind: more
// bytes than the buffers of its connection take, so that the server's write to
// it is stuck at once and stays so.
const stalledBacklog = 40_000

// paced is one slice at a steady rate.
type paced struct {
	p50, p99 time.Duration
	longest  time.Duration // of any publish
}

// pacer is a server with clients that have all there is, ready for a slice.
type pacer struct {
	server  *serving
	crowd   *crowd
	last    int64 // the number of the event published last
	stalled int   // clients beside them that never read
	before  usage
	slices  []paced
}

// newPacer starts a server and its clients. Close it in any case.
func (b *bench) newPacer(ctx context.Context, role string, stalled int) (p *pacer, err error) {
	return b.newPacerOf(ctx, role, pacedClients, stalled)
}

// newPacerOf is newPacer with so many clients, of which some are stalled.
func (b *bench) newPacerOf(ctx context.Context, role string, clients, stalled int) (p *pacer, err error) {
	server, err := b.serve(ctx, role)
	if err != nil {
		return nil, err
	}
	p = &pacer{server: server, last: server.Last, stalled: stalled}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if stalled > 0 {
		u, err := server.tell(order{Publish: stalledBacklog})
		if err != nil {
			return nil, err
		}
		p.last = u.Last
		server.Last = u.Last // where clients begin
	}
	if p.crowd, err = gather(server, clients-stalled, p.last, true); err != nil {
		return nil, err
	}
	settle()
	p.before, err = server.tell(order{Usage: true, Collect: true})
	return p, err
}

// slice publishes at the rate and waits until all readers have everything. The
// clients that never read are new ones each time: a server may part with them.
func (p *pacer) slice() error {
	for range p.stalled {
		r, err := connect(p.server.greeting, p.last-stalledBacklog, false)
		if err != nil {
			return err
		}
		defer r.conn.Close()
	}
	if p.stalled > 0 {
		settle() // until their buffers are full
	}
	last := p.last + sliceEvents
	for _, r := range p.crowd.readers {
		r.delays = r.delays[:0]
		p.crowd.wait.Go(func() { r.run(last) })
	}
	after, err := p.server.tell(order{Publish: sliceEvents, Rate: pacedRate})
	if err != nil {
		return err
	}
	if after.Last != last {
		return fmt.Errorf("published up to %d instead of %d", after.Last, last)
	}
	if err := p.crowd.done(); err != nil {
		return err
	}
	p.last = last
	var delays []time.Duration
	for _, r := range p.crowd.readers {
		delays = append(delays, r.delays...)
	}
	slices.Sort(delays)
	if want := sliceEvents * len(p.crowd.readers); len(delays) != want {
		return fmt.Errorf("%d deliveries were timed instead of %d", len(delays), want)
	}
	p.slices = append(p.slices, paced{percentile(delays, 50), percentile(delays, 99), after.LongestPublish})
	return nil
}

// grown is the memory that the server took for its slices, in KiB.
func (p *pacer) grown() (int64, error) {
	after, err := p.server.tell(order{Usage: true})
	return (after.Resident - p.before.Resident) >> 10, err
}

func (p *pacer) close() error {
	if p.crowd != nil {
		p.crowd.leave()
	}
	return p.server.close()
}

// measureLatency holds the way from publish to receive against centrifuge's,
// and against itself with a tenth of the clients stalled.
func measureLatency(ctx context.Context, b *bench) (err error) {
	var all []*pacer
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.close())
		}
	}()
	for _, of := range []struct {
		role    string
		stalled int
	}{{"abide", 0}, {"centrifuge", 0}, {"abide", pacedClients / 10}} {
		p, err := b.newPacer(ctx, of.role, of.stalled)
		if err != nil {
			return fmt.Errorf("%s, %d of %d stalled: %w", of.role, of.stalled, pacedClients, err)
		}
		all = append(all, p)
	}
	for round := range b.scaled(20, 4) {
		for i := range all {
			if err := all[(round+i)%len(all)].slice(); err != nil {
				return err
			}
		}
	}
	return b.latencies(all[0], all[1], all[2])
}

func (b *bench) latencies(ours, theirs, beside *pacer) error {
	p50 := func(p paced) time.Duration { return p.p50 }
	p99 := func(p paced) time.Duration { return p.p99 }
	longest := func(p paced) time.Duration { return p.longest }
	b.atMost("200 events/s to 100 clients, publish to receive, p50 against centrifuge", 1, ratio(each(ours.slices, p50), each(theirs.slices, p50)))
	b.atMost("200 events/s to 100 clients, publish to receive, p99 against centrifuge", 1, ratio(each(ours.slices, p99), each(theirs.slices, p99)))
	b.atMost("p99 of the others with 10 % of clients stalled, against none stalled", 1.5, ratio(each(beside.slices, p99), each(ours.slices, p99)))
	b.detail("publish to receive, %d clients: abide p50 %s p99 %s, centrifuge p50 %s p99 %s, abide with %d stalled p50 %s p99 %s", pacedClients,
		median(each(ours.slices, p50)), median(each(ours.slices, p99)), median(each(theirs.slices, p50)), median(each(theirs.slices, p99)),
		beside.stalled, median(each(beside.slices, p50)), median(each(beside.slices, p99)))
	b.detail("longest append of a slice: %s with none stalled, %s with %d", median(each(ours.slices, longest)), median(each(beside.slices, longest)), beside.stalled)
	none, err := ours.grown()
	if err != nil {
		return err
	}
	some, err := beside.grown()
	if err != nil {
		return err
	}
	b.detail("memory grown in the slices: %d KiB with none stalled, %d KiB with %d", none, some, beside.stalled)
	return nil
}
