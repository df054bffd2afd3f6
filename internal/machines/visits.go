package machines

import (
	"context"
	"sync"
)

// visits are the sessions that nobody looks at and whose copies are to be read on, one after
// the other for each machine.
type visits struct {
	ctx   context.Context
	visit func(machine, id string)

	mu      sync.Mutex
	waiting map[string][]string // by machine, while its goroutine runs
	queued  map[string]bool     // <machine>/<session>
	running sync.WaitGroup
}

func (v *visits) add(machine string, ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ctx.Err() != nil || len(ids) == 0 {
		return
	}
	waiting, runs := v.waiting[machine]
	for _, id := range ids {
		if key := machine + "/" + id; !v.queued[key] {
			v.queued[key] = true
			waiting = append(waiting, id)
		}
	}
	v.waiting[machine] = waiting
	if !runs {
		v.running.Go(func() { v.run(machine) })
	}
}

// end waits for the visits. None is added once ctx has ended.
func (v *visits) end() {
	v.mu.Lock()
	clear(v.queued)
	v.mu.Unlock()
	v.running.Wait()
}

func (v *visits) run(machine string) {
	for {
		v.mu.Lock()
		waiting := v.waiting[machine]
		if len(waiting) == 0 || v.ctx.Err() != nil {
			delete(v.waiting, machine)
			v.mu.Unlock()
			return
		}
		id := waiting[0]
		v.waiting[machine] = waiting[1:]
		delete(v.queued, machine+"/"+id)
		v.mu.Unlock()
		v.visit(machine, id)
	}
}
